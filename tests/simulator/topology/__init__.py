"""Tests of simulator/topology."""
