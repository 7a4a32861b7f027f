import type { Topic } from '../topic.ts';
import { kcpApiBindings } from './kcp-api-bindings.ts';
import { kcpApiExports } from './kcp-api-exports.ts';
import { kcpBoundResources } from './kcp-bound-resources.ts';
import { kcpEndpointSlices } from './kcp-endpoint-slices.ts';
import { kcpLifecycle } from './kcp-lifecycle.ts';
import { kcpPaths } from './kcp-paths.ts';
import { kcpValidation } from './kcp-validation.ts';
import { kcpVirtualWorkspaces } from './kcp-virtual-workspaces.ts';
import { kcpWorkspaceTypes } from './kcp-workspace-types.ts';
import { kcpWorkspaces } from './kcp-workspaces.ts';

/** The topics of kcp's own API. */
export const kcpTopics: readonly Topic[] = [
  kcpWorkspaces,
  kcpWorkspaceTypes,
  kcpApiExports,
  kcpApiBindings,
  kcpEndpointSlices,
  kcpVirtualWorkspaces,
  kcpLifecycle,
  kcpPaths,
  kcpBoundResources,
  kcpValidation,
];
