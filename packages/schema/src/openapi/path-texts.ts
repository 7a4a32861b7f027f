import type { JsonObject } from '@multiplane/apimachinery';
import type { OpenAPIResource } from './openapi-resource.ts';
import { references } from './openapi-v3.ts';
import { addGroupVersionPath, pathNames, ResourcePaths, type PathNames } from './resource-paths.ts';

/** The members of `paths` for one resource. */
export interface EncodedPaths {
  /** Each path and the JSON text of what it holds. */
  readonly members: readonly (readonly [path: string, text: string])[];
  /** Names of the components that they refer to, beside the resource's own. */
  readonly references: readonly string[];
}

type Name = keyof PathNames | 'kind' | 'group' | 'version' | 'resource';
const nameKeys: readonly Name[] = ['base', 'prefix', 'tag', 'self', 'list', 'kind', 'group', 'version', 'resource'];

/** A text with names in it: even pieces are themselves, odd ones say whose name stands there. */
type Template = readonly string[];

interface Form {
  readonly members: readonly (readonly [path: Template, text: Template])[];
  readonly references: readonly string[];
}

/** No name has it, and JSON writes it in one way. */
const mark = '\u0001';
const marked = (name: Name): string => `${mark}${name}${mark}`;
const escapedMark = JSON.stringify(mark).slice(1, -1);

/**
 * The paths of resources as JSON text. Those of two resources with the same scope, verbs and subresources differ
 * in names alone. So they are built and encoded once for each such form, with marks for names; for a resource the text is
 * put together around its own. There are as many forms as the program knows kinds of resources: a tenant has a say in
 * scope and subresources only.
 */
export class PathTexts {
  readonly #forms = new Map<string, Form>();

  of(resource: OpenAPIResource): EncodedPaths {
    const key = formOf(resource);
    let form = this.#forms.get(key);
    if (form === undefined) this.#forms.set(key, (form = build(resource)));
    const { kind, group, version } = resource;
    const names: Record<Name, string> = { ...pathNames(resource), kind, group, version, resource: resource.resource };
    const escaped = { ...names };
    for (const name of nameKeys) escaped[name] = JSON.stringify(names[name]).slice(1, -1);
    return {
      members: form.members.map(([path, text]) => [filled(path, names), filled(text, escaped)]),
      references: form.references,
    };
  }
}

/** All that paths depend on beside names. */
function formOf({
  origin,
  namespaced,
  verbs,
  subresources,
  returnsDeletedObject,
  nativePatchMeta,
}: OpenAPIResource): string {
  const native = nativePatchMeta !== undefined;
  return JSON.stringify([origin, namespaced, verbs, subresources, returnsDeletedObject === true, native]);
}

function build(resource: OpenAPIResource): Form {
  const paths: JsonObject = {};
  const names: PathNames = {
    base: marked('base'),
    prefix: marked('prefix'),
    tag: marked('tag'),
    self: marked('self'),
    list: marked('list'),
  };
  if (resource.origin === 'built-in') addGroupVersionPath(names, paths);
  const anyResource = {
    ...resource,
    kind: marked('kind'),
    group: marked('group'),
    version: marked('version'),
    resource: marked('resource'),
  };
  new ResourcePaths(anyResource, names, paths).add();
  return {
    members: Object.keys(paths).map((path) => [path.split(mark), JSON.stringify(paths[path]).split(escapedMark)]),
    references: [...references([paths])].filter((name) => !name.includes(mark)),
  };
}

function filled(template: Template, names: Readonly<Record<Name, string>>): string {
  let text = '';
  template.forEach((piece, index) => (text += index % 2 === 0 ? piece : names[piece as Name]));
  return text;
}
