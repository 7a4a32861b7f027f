import {
  asLogicalClusterName,
  base36Sha224Bytes,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { chosenClusterAnnotation, type Workspace } from './kinds.ts';

/** A new logical cluster's name from 32 random bytes: base 36 of their SHA-224, cut to 16 characters (C1.1). */
export function randomClusterName(randomBytes: (size: number) => Buffer): LogicalClusterName {
  return nameFrom(randomBytes(32));
}

/**
 * The name that the logical cluster of a Workspace has where nobody wrote another one down: made in the same way of the
 * Workspace's uid, which is as random, and which no Workspace of the same name has again.
 */
export function clusterNameOf(uid: string): LogicalClusterName {
  return nameFrom(Buffer.from(uid));
}

/** The name that the logical cluster of a Workspace has, or would have; whether there is one it does not tell. */
export function clusterOf({ metadata, spec }: DeepReadonly<Workspace>): string {
  return spec?.cluster ?? metadata.annotations?.[chosenClusterAnnotation] ?? clusterNameOf(metadata.uid ?? '');
}

const nameFrom = (bytes: Buffer): LogicalClusterName => asLogicalClusterName(base36Sha224Bytes(bytes).slice(0, 16));
