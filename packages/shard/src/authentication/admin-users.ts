/** Names and groups of the built-in users (kcp `pkg/server/options/authentication.go`). */
export const shardAdminName = 'shard-admin';
export const kcpAdminName = 'kcp-admin';
export const plainUserName = 'user';
export const kcpAdminGroup = 'system:kcp:admin';
