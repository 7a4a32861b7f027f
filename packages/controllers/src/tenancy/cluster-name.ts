import {
  asLogicalClusterName,
  base36Sha224Bytes,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { chosenClusterAnnotation, type Workspace } from './kinds.ts';

/** A random name: the first 16 characters of the base 36 of the SHA-224 of 32 random bytes, as in kcp. */
export function randomClusterName(randomBytes: (size: number) => Buffer): LogicalClusterName {
  return nameFrom(randomBytes(32));
}

/**
 * The default name of the logical cluster of a Workspace, derived from the uid instead of random bytes, so that a scheduler
 * that was interrupted finds it again.
 */
export function clusterNameOf(uid: string): LogicalClusterName {
  return nameFrom(Buffer.from(uid));
}

/** The name of the logical cluster of a Workspace, which may not exist yet. */
export function intendedClusterName({ metadata, spec }: DeepReadonly<Workspace>): string {
  return spec?.cluster ?? metadata.annotations?.[chosenClusterAnnotation] ?? clusterNameOf(metadata.uid ?? '');
}

const nameFrom = (bytes: Buffer): LogicalClusterName => asLogicalClusterName(base36Sha224Bytes(bytes).slice(0, 16));
