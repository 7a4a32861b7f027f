/** Who makes a request. Never shared mutable between requests. */
export interface UserInfo {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  /** Keys are lower case. */
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const anonymousUserName = 'system:anonymous';
export const authenticatedGroup = 'system:authenticated';
export const unauthenticatedGroup = 'system:unauthenticated';
/** Members may do everything, without any check. */
export const mastersGroup = 'system:masters';
