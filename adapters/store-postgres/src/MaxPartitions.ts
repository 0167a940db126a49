/**
 * Most partitions of a table. A statement that is planned for any organization locks all of them, and the server's table of
 * locks has room for `max_locks_per_transaction` of each connection.
 */
export const MAX_PARTITIONS = 64
