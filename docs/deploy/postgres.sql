-- Two databases of one PostgreSQL: Dagster's records, and the catalogue of the warehouse. Run once, as its administrator:
--   psql -v dagster_password=... -v warehouse_password=... -f docs/deploy/postgres.sql
CREATE USER dagster PASSWORD :'dagster_password';
CREATE DATABASE dagster OWNER dagster;
CREATE USER tracehouse PASSWORD :'warehouse_password';
CREATE DATABASE tracehouse OWNER tracehouse;
