import { createHash } from 'node:crypto';
import { apiVersionOf } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { timeSlices } from '@multiplane/component-base';
import type { OpenAPIResource } from '@multiplane/schema';

/** One group version of the served APIs, and what its document depends on. */
export interface OpenAPIGroupVersion {
  /** `api/v1`, `apis/example.com/v1`. */
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly definitions: readonly ResourceDefinition[];
  /**
   * Hash of the document's inputs, computed without building it: equal for equal definitions in any logical cluster.
   */
  readonly hash: string;
}

/** The group versions of a set of served APIs, by path. */
export class OpenAPIGroupVersions {
  readonly groups: ReadonlyMap<string, OpenAPIGroupVersion>;
  /** The groups, without the core group, and whether all of their definitions come from tenants. */
  readonly ofGroups: ReadonlyMap<string, { readonly isCustom: boolean }>;
  /** Hash of all group versions. */
  readonly hash: string;
  readonly createdAt: Date;
  /** Number of definitions. */
  readonly size: number;

  /**
   * `salt` identifies the program version, because another version may build other documents from the same definitions.
   */
  constructor(definitions: readonly ResourceDefinition[], salt: string, createdAt: Date) {
    const byPath = new Map<string, ResourceDefinition[]>();
    for (const definition of definitions) {
      const path = pathOf(definition);
      const known = byPath.get(path);
      if (known === undefined) byPath.set(path, [definition]);
      else known.push(definition);
    }
    const groups = new Map<string, OpenAPIGroupVersion>();
    const all = createHash('sha512').update(salt);
    for (const path of [...byPath.keys()].sort()) {
      const members = (byPath.get(path) as ResourceDefinition[]).sort((a, b) => (a.resource < b.resource ? -1 : 1));
      const hash = hashOf(members, salt);
      const [{ group, version }] = members as [ResourceDefinition];
      groups.set(path, { path, group, version, definitions: members, hash });
      all.update(hash);
    }
    this.groups = groups;
    this.ofGroups = groupsOf(groups.values());
    this.hash = hex(all);
    this.createdAt = createdAt;
    this.size = definitions.length;
  }
}

function groupsOf(groupVersions: Iterable<OpenAPIGroupVersion>): Map<string, { readonly isCustom: boolean }> {
  const groups = new Map<string, { isCustom: boolean }>();
  for (const { group, definitions } of groupVersions) {
    if (group === '') continue;
    const isCustom = definitions.every(({ origin }) => origin !== 'built-in');
    groups.set(group, { isCustom: isCustom && (groups.get(group)?.isCustom ?? true) });
  }
  return groups;
}

const pathOf = ({ group, version }: ResourceDefinition): string =>
  group === '' ? `api/${version}` : `apis/${apiVersionOf({ group, version })}`;

const hex = (hash: ReturnType<typeof createHash>): string => hash.digest('hex').toUpperCase();

const hashes = new WeakMap<ResourceDefinition, string>();

/** Hash of everything in a definition that documents depend on: equal for equal definitions in any logical cluster. */
export function definitionHash(definition: ResourceDefinition): string {
  let hash = hashes.get(definition);
  if (hash === undefined) {
    const { group, version, kind, listKind, resource, namespaced, verbs, origin } = definition;
    const { subresources, fieldSelectors, schema } = definition;
    const content = [
      group,
      version,
      kind,
      listKind,
      resource,
      namespaced,
      verbs,
      origin,
      schema.hash,
      Object.keys(fieldSelectors),
      Object.entries(subresources).map(([name, subresource]) => [name, subresource.type, subresource.verbs]),
    ];
    hash = createHash('sha256').update(JSON.stringify(content)).digest('base64');
    hashes.set(definition, hash);
  }
  return hash;
}

/** Computes the hashes in time slices of a lane, because they cover whole schemas. */
export async function prepareHashes(definitions: readonly ResourceDefinition[], lane?: string): Promise<void> {
  const slices = timeSlices(lane);
  for (const definition of definitions) {
    definitionHash(definition);
    if (slices.isExceeded) await slices.yield();
  }
}

function hashOf(definitions: readonly ResourceDefinition[], salt: string): string {
  const hash = createHash('sha512').update(salt);
  for (const definition of definitions) hash.update(definitionHash(definition));
  return hex(hash);
}

/** The definition as input of the document builders. */
export function openApiResourceOf(definition: ResourceDefinition): OpenAPIResource {
  const { group, version, kind, listKind, resource, namespaced, verbs, origin } = definition;
  const { schema, strategy, native, subresources, fieldSelectors } = definition;
  return {
    group,
    version,
    kind,
    listKind,
    resource,
    namespaced,
    verbs,
    origin,
    schema: schema.source,
    // Deleting a namespace returns the namespace, but Kubernetes' document does not say so.
    returnsDeletedObject: strategy.returnsDeletedObject && kind !== 'Namespace',
    nativePatchMeta: native?.patchMeta,
    selectableFields: origin === 'custom' ? Object.keys(fieldSelectors) : undefined,
    subresources: Object.entries(subresources).map(([name, subresource]) => ({
      name,
      verbs: subresource.verbs,
      kind:
        subresource.type === 'connect'
          ? subresource.kind
          : subresource.type === 'scale'
            ? { group: 'autoscaling', version: 'v1', kind: 'Scale' }
            : undefined,
    })),
  };
}
