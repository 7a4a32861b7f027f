import { createHash } from 'node:crypto';
import { apiVersionOf } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { slicesOfTurns } from '@multiplane/component-base';
import type { OpenAPIResource } from '@multiplane/schema';

/** One group version of a surface and what its document depends on. */
export interface OpenAPIGroup {
  /** `api/v1`, `apis/example.com/v1`. */
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly definitions: readonly ResourceDefinition[];
  /** Names the content of the document without building it: equal for equal definitions, whatever the tenant. */
  readonly hash: string;
}

/** The group versions of one surface, by path. */
export class OpenAPISurface {
  readonly groups: ReadonlyMap<string, OpenAPIGroup>;
  /** Names the content of all. */
  readonly hash: string;
  readonly createdAt: Date;
  /** How many definitions there are. */
  readonly size: number;

  /** `salt` stands for the program: another version of it may build other documents from the same definitions. */
  constructor(definitions: readonly ResourceDefinition[], salt: string, createdAt: Date) {
    const byPath = new Map<string, ResourceDefinition[]>();
    for (const definition of definitions) {
      const path = pathOf(definition);
      const known = byPath.get(path);
      if (known === undefined) byPath.set(path, [definition]);
      else known.push(definition);
    }
    const groups = new Map<string, OpenAPIGroup>();
    const all = createHash('sha512').update(salt);
    for (const path of [...byPath.keys()].sort()) {
      const members = (byPath.get(path) as ResourceDefinition[]).sort((a, b) => (a.resource < b.resource ? -1 : 1));
      const hash = hashOf(members, salt);
      const [{ group, version }] = members as [ResourceDefinition];
      groups.set(path, { path, group, version, definitions: members, hash });
      all.update(hash);
    }
    this.groups = groups;
    this.hash = hex(all);
    this.createdAt = createdAt;
    this.size = definitions.length;
  }
}

const pathOf = ({ group, version }: ResourceDefinition): string =>
  group === '' ? `api/${version}` : `apis/${apiVersionOf({ group, version })}`;

const hex = (hash: ReturnType<typeof createHash>): string => hash.digest('hex').toUpperCase();

const hashes = new WeakMap<ResourceDefinition, string>();

/** Names all of a definition that its part of a document depends on: equal for equal definitions, whatever the tenant. */
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

/** Hashes go through whole schemas: beforehand, with pauses. */
export async function prepareHashes(definitions: readonly ResourceDefinition[]): Promise<void> {
  const slices = slicesOfTurns();
  for (const definition of definitions) {
    definitionHash(definition);
    if (slices.over) await slices.next();
  }
}

function hashOf(definitions: readonly ResourceDefinition[], salt: string): string {
  const hash = createHash('sha512').update(salt);
  for (const definition of definitions) hash.update(definitionHash(definition));
  return hex(hash);
}

/** A definition as the builders of documents know it. */
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
    // A namespace answers with itself as well, but has never said so.
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
