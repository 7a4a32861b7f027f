import { asLogicalClusterName, base36Sha224Bytes, type LogicalClusterName } from '@multiplane/apimachinery';

/** A new logical cluster's name from 32 random bytes: base 36 of their SHA-224, cut to 16 characters (C1.1). */
export function randomClusterName(randomBytes: (size: number) => Buffer): LogicalClusterName {
  return asLogicalClusterName(base36Sha224Bytes(randomBytes(32)).slice(0, 16));
}
