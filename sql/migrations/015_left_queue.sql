-- Views alone are new or changed: who left the queue before a start is apart from who waited. A warehouse that is read first gets them, too.
SELECT 1;
