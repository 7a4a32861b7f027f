import { expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { finalizersOfDeletion, workspaceFinalizer } from './workspace-finalizer.ts';

const workspaces = { group: 'tenancy.kcp.io', resource: 'workspaces' };
const workspace = (finalizers: string[], spec: object = {}): KubeObject => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'w', finalizers },
  spec,
});

test('a workspace that is deleted is held for a look at its logical cluster, once', () => {
  const ofWorkspace = finalizersOfDeletion(workspaces);
  expect(ofWorkspace?.(workspace([]))).toEqual([workspaceFinalizer]);
  expect(ofWorkspace?.(workspace(['example.com/other']))).toEqual([workspaceFinalizer]);
  expect(ofWorkspace?.(workspace([workspaceFinalizer]))).toEqual([]);
});

test('a mount has no logical cluster, and other kinds have none either', () => {
  expect(finalizersOfDeletion(workspaces)?.(workspace([], { mount: { ref: {} } }))).toEqual([]);
  expect(finalizersOfDeletion({ group: 'tenancy.kcp.io', resource: 'workspacetypes' })).toBeUndefined();
  expect(finalizersOfDeletion({ group: 'example.com', resource: 'workspaces' })).toBeUndefined();
});
