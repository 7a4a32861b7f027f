/** SERVER: one API-server shard. */
export {};
