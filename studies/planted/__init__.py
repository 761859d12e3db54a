"""Generated logs under hidden rules: are the rules found, and how wrong is a what-if on the cluster that was found?"""
