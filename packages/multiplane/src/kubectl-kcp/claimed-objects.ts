import {
  JsonPath,
  labelSelectorFromObject,
  type DeepReadonly,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import { referencedObject, type ClaimReference } from '@multiplane/apis';
import type { WorkspaceClient } from '../kubectl-ws/workspace-client.ts';
import type { AnsweredClaim } from './claim-text.ts';

/** Namespaces and names of the objects that a claim is for now, in the order of the server, whether it is accepted or not. */
export async function* claimedObjects(
  { group = '', resource, selector, objects = {} }: AnsweredClaim['claim'],
  workspace: string,
  { objects: client }: Pick<WorkspaceClient, 'objects'>,
): AsyncGenerator<string> {
  const { names, namespaces, fieldSelector, references } = objects;
  const version = await client.preferredVersion(group, workspace);
  const labels = selector?.matchAll === true ? undefined : labelSelectorFromObject((selector ?? {}) as unknown as Json);
  const named = references === undefined ? undefined : await namedObjects(references, workspace, client);
  for await (const { metadata } of client.pages({ group, version, resource }, workspace, { fieldSelector })) {
    const { name = '', namespace = '' } = metadata;
    if (names?.includes(name) === false || namespaces?.includes(namespace) === false) continue;
    if (labels?.matches(metadata.labels ?? {}) === false) continue;
    const text = namespace === '' ? name : `${namespace}/${name}`;
    if (named?.has(text) !== false) yield text;
  }
}

async function namedObjects(
  references: DeepReadonly<readonly ClaimReference[]>,
  workspace: string,
  client: WorkspaceClient['objects'],
): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  for (const { group = '', resource, path, otherNamespaces = false } of references) {
    const values = new JsonPath(path);
    const version = await client.preferredVersion(group, workspace);
    for await (const object of client.pages<KubeObject>({ group, version, resource }, workspace)) {
      const { namespace = '' } = object.metadata;
      for (const value of values.find(object as unknown as Json)) {
        const [space, name] = referencedObject(value, namespace, otherNamespaces) ?? [];
        if (name === undefined) continue;
        named.add(space === '' ? name : `${space}/${name}`);
        // Objects without a namespace lie outside of that of the object that names them.
        if (otherNamespaces) named.add(name);
      }
    }
  }
  return named;
}
