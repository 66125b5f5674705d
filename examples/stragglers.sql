-- Which rank makes the others wait, and why: the table rank_late of `gputrace ranks`, in DuckDB.
--   gputrace export --parquet=dataset gputrace-out/run
--   cd dataset && duckdb < stragglers.sql
WITH met AS (
    SELECT rank, process, count(*) AS collectives, count(*) FILTER (is_last) AS was_last,
        CAST(sum(waited) AS BIGINT) AS waited
    FROM read_parquet('collectives/*/*.parquet', hive_partitioning = true)
    GROUP BY rank, process
), blamed AS (
    SELECT process, sum(cost) AS cost, sum(late) AS late, sum(gpu) AS gpu, sum(work) AS work, sum(data) AS data,
        sum(host) AS host, sum(network) AS network
    FROM read_parquet('blames/*/*.parquet')
    GROUP BY process
), sums AS (
    SELECT *
    FROM met LEFT JOIN blamed USING (process)
)
SELECT rank, collectives, was_last, CAST(coalesce(cost, 0) AS BIGINT) AS cost, waited,
    CAST(coalesce(late, 0) AS BIGINT) AS late,
    CASE
        WHEN coalesce(late, 0) <= 0 THEN '-'
        WHEN greatest(gpu, work, data, host, network) * 2 < late THEN 'no single one'
        ELSE list_extract(['slower GPU', 'more GPU work', 'loading data', 'host', 'network'],
            list_position([gpu, work, data, host, network], greatest(gpu, work, data, host, network)))
    END AS cause
FROM sums
ORDER BY cost DESC, rank;
