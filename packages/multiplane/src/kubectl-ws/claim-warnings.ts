import { deepEqual, isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { WorkspaceClient } from './workspace-client.ts';

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const part = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isJsonObject(value ?? null) ? (value as JsonObject) : {};
};
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const verbsOf = (claim: JsonObject | undefined): string[] =>
  Array.isArray(claim?.['verbs']) ? claim['verbs'].map((verb) => text(verb)) : [];

/** Warnings about permission claims of the workspace's APIBindings that differ from those of their exports; kcp's texts. */
export async function claimWarnings(path: string, client: WorkspaceClient): Promise<string[]> {
  return (await client.bindings(path)).flatMap((binding) => {
    const name = text(part(binding, 'metadata')['name']);
    const specified = objects(part(binding, 'spec')['permissionClaims']);
    return objects(part(binding, 'status')['exportPermissionClaims']).flatMap((exported) => {
      const claim = `${text(exported['resource'])}.${text(exported['group'])}`.replace(/\.$/, '');
      const own = specified.find((candidate) =>
        ['group', 'resource', 'identityHash'].every((field) => text(candidate[field]) === text(exported[field])),
      );
      const allowed = verbsOf(own);
      // As in kcp's plugin, a claim that the binding does not specify has no expected verbs.
      const expected = own === undefined ? [] : verbsOf(exported);
      return [
        ...(own === undefined
          ? [
              `Warning: claim for ${claim} exported but not specified on APIBinding ${name}\nAdd this claim to the APIBinding's Spec.`,
            ]
          : []),
        ...(['Accepted', 'Rejected'].includes(text(own?.['state']))
          ? []
          : [`Warning: claim for ${claim} specified on APIBinding ${name} but not accepted or rejected.`]),
        ...(own !== undefined && deepEqual([...allowed].sort(), [...expected].sort())
          ? []
          : [
              `Warning: allowed verbs (${allowed.join(',')}) on claim for ${claim} on APIBinding ${name} do not match expected verbs (${expected.join(',')}).`,
            ]),
      ];
    });
  });
}
