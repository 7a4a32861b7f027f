import type { GroupVersion, GroupVersionKind, Json, JsonObject } from '@multiplane/apimachinery';
import {
  componentName,
  componentReference,
  metaReference,
  type OpenAPIResource,
  type OpenAPISubresource,
} from './openapi-resource.ts';
import { parameterName } from './parameter-name.ts';
import {
  customReadParameters,
  deleteCollectionParameters,
  deleteParameters,
  listParameters,
  patchParameters,
  pathParameters,
  writeParameters,
} from './parameters.ts';
import { listName } from './resource-components.ts';

/** Media types of a kind of Kubernetes, whether built in or brought back by a definition, and of any other. */
const readTypes = {
  kubernetes: ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'],
  custom: ['application/json', 'application/yaml'],
} as const;
const streamTypes = {
  kubernetes: ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'],
  custom: [],
} as const;
const bodyTypes = { kubernetes: ['*/*'], custom: ['application/json', 'application/yaml'] } as const;
/** kubectl reads from here whether a kind understands strategic merge patches. */
const patchTypes = {
  kubernetes: [
    'application/apply-patch+yaml',
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/strategic-merge-patch+json',
  ],
  custom: ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'],
} as const;

/** `/api/v1` or `/apis/<group>/<version>`. */
const groupVersionPath = ({ group, version }: GroupVersion): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The group in operation ids: `CoreV1`, `RbacAuthorizationV1`, `ExampleComV1`. */
function operationGroup({ group, version }: GroupVersion): string {
  const name = group === '' ? 'core' : group.replace(/\.k8s\.io$/, '');
  return name.split(/[.-]/).map(capitalized).join('') + capitalized(version);
}

/** The tag of a group version, or of a group if there is no version: `core_v1`, `exampleCom_v1`, `apps`. */
function operationTag({ group, version }: GroupVersion): string {
  const camel = operationGroup({ group, version: '' });
  const name = `${camel.charAt(0).toLowerCase()}${camel.slice(1)}`;
  return version === '' ? name : `${name}_${version}`;
}

interface Operation {
  readonly id: string;
  readonly action: string;
  readonly description: string;
  readonly kind: GroupVersionKind;
  readonly parameters?: readonly JsonObject[];
  readonly body?: JsonObject;
  /** Status codes of success. */
  readonly codes?: readonly number[];
  readonly answer: JsonObject;
  readonly streams?: boolean;
}

/** What paths call a resource beside its kind, group and version. */
export interface PathNames {
  /** Path of the group version. */
  readonly base: string;
  /** What stands between verb and kind in operation ids. */
  readonly prefix: string;
  readonly tag: string;
  /** Names of components: of the kind and of its list. */
  readonly self: string;
  readonly list: string;
}

export const groupVersionNames = (groupVersion: GroupVersion): Pick<PathNames, 'base' | 'prefix' | 'tag'> => ({
  base: groupVersionPath(groupVersion),
  prefix: operationGroup(groupVersion),
  tag: operationTag(groupVersion),
});

export const pathNames = (resource: OpenAPIResource): PathNames => ({
  ...groupVersionNames(resource),
  self: componentName(resource, resource.origin),
  list: listName(resource),
});

/** The path of a group version itself: what it serves. Documents of definitions do not have it. */
export function addGroupVersionPath(
  { base, prefix, tag }: ReturnType<typeof groupVersionNames>,
  paths: JsonObject,
): void {
  const types = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
  paths[`${base}/`] = {
    get: {
      description: 'Read the resources of this version.',
      operationId: `get${prefix}APIResources`,
      responses: {
        '200': {
          description: 'OK',
          content: contentOf(types, metaReference('APIResourceList')),
        },
        '401': { description: 'Unauthorized' },
      },
      tags: [tag],
    },
  };
}

/** The path of a group: the versions in which it is served. */
export function addGroupPath(group: string, paths: JsonObject): void {
  const types = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
  paths[`/apis/${group}/`] = {
    get: {
      description: 'Read the versions of this group.',
      operationId: `get${operationGroup({ group, version: '' })}APIGroup`,
      responses: {
        '200': { description: 'OK', content: contentOf(types, metaReference('APIGroup')) },
        '401': { description: 'Unauthorized' },
      },
      tags: [operationTag({ group, version: '' })],
    },
  };
}

/** All paths of one resource with their operations. */
export class ResourcePaths {
  readonly #resource: OpenAPIResource;
  readonly #names: PathNames;
  readonly #paths: JsonObject;
  readonly #self: JsonObject;
  readonly #list: JsonObject;
  readonly #base: string;
  readonly #prefix: string;

  constructor(resource: OpenAPIResource, names: PathNames, paths: JsonObject) {
    this.#resource = resource;
    this.#names = names;
    this.#paths = paths;
    this.#self = componentReference(names.self);
    this.#list = componentReference(names.list);
    this.#base = names.base;
    this.#prefix = names.prefix;
  }

  add(): void {
    const { resource, namespaced } = this.#resource;
    const scope = namespaced ? '/namespaces/{namespace}' : '';
    const collection = `${this.#base}${scope}/${resource}`;
    this.#put(collection, this.#collection(), this.#common(false));
    if (namespaced && this.#can('list')) {
      this.#put(`${this.#base}/${resource}`, { get: this.#listOperation(true) }, [
        ...listParameters,
        pathParameters.pretty,
      ]);
    }
    this.#put(`${collection}/{name}`, this.#item(), this.#common(true));
    for (const subresource of this.#resource.subresources) {
      this.#put(`${collection}/{name}/${subresource.name}`, this.#subresource(subresource), this.#common(true));
    }
    if (this.#resource.origin === 'built-in' && this.#can('watch')) this.#watchPaths(scope);
  }

  #can(verb: string): boolean {
    return this.#resource.verbs.includes(verb);
  }

  /** Kubernetes' documents of definitions come from a builder of their own (apiextensions-apiserver: pkg/controller/openapi). */
  get #like(): 'kubernetes' | 'custom' {
    const { origin, nativePatchMeta } = this.#resource;
    return origin === 'built-in' || nativePatchMeta !== undefined ? 'kubernetes' : 'custom';
  }

  /** Parameters of the only operation of a path are those of the path. */
  #put(path: string, operations: JsonObject, parameters: readonly JsonObject[]): void {
    const [method, ...others] = Object.keys(operations);
    if (method === undefined) return;
    const { parameters: own, ...only } = operations[method] as JsonObject;
    this.#paths[path] =
      others.length === 0 && Array.isArray(own)
        ? { [method]: only, parameters: inOrder([...own, ...parameters]) }
        : { ...operations, parameters: inOrder(parameters) };
  }

  #common(named: boolean): JsonObject[] {
    return [
      ...(named ? [pathParameters.name(this.#resource.kind)] : []),
      ...(this.#resource.namespaced ? [pathParameters.namespace] : []),
      pathParameters.pretty,
    ];
  }

  /** `NamespacedFoo` or `Foo`. */
  get #subject(): string {
    return `${this.#resource.namespaced ? 'Namespaced' : ''}${this.#resource.kind}`;
  }

  #listOperation(everywhere: boolean): JsonObject {
    const { kind } = this.#resource;
    return this.#operation({
      id: `list${this.#prefix}${everywhere ? `${kind}ForAllNamespaces` : this.#subject}`,
      action: 'list',
      description: `List or watch objects of kind ${kind}.`,
      kind: this.#resource,
      ...(everywhere ? {} : { parameters: listParameters }),
      answer: this.#list,
      streams: true,
    });
  }

  #collection(): JsonObject {
    const { kind } = this.#resource;
    const operations: JsonObject = {};
    if (this.#can('deletecollection')) {
      operations['delete'] = this.#operation({
        id: `delete${this.#prefix}Collection${this.#subject}`,
        action: 'deletecollection',
        description: `Delete all selected objects of kind ${kind}.`,
        kind: this.#resource,
        ...(this.#like === 'custom'
          ? { parameters: listParameters }
          : { parameters: deleteCollectionParameters, body: metaReference('DeleteOptions') }),
        answer: metaReference('Status'),
      });
    }
    if (this.#can('list')) operations['get'] = this.#listOperation(false);
    if (this.#can('create')) {
      operations['post'] = this.#operation({
        id: `create${this.#prefix}${this.#subject}`,
        action: 'post',
        description: `Create a ${kind}.`,
        kind: this.#resource,
        parameters: writeParameters,
        body: this.#self,
        codes: [200, 201, 202],
        answer: this.#self,
      });
    }
    return operations;
  }

  #item(): JsonObject {
    const { kind } = this.#resource;
    const operations: JsonObject = {};
    if (this.#can('delete')) {
      operations['delete'] = this.#operation({
        id: `delete${this.#prefix}${this.#subject}`,
        action: 'delete',
        description: `Delete a ${kind}.`,
        kind: this.#resource,
        parameters: deleteParameters,
        body: metaReference('DeleteOptions'),
        codes: [200, 202],
        answer: this.#resource.returnsDeletedObject === true ? this.#self : metaReference('Status'),
      });
    }
    return { ...operations, ...this.#readAndWrite('', this.#resource.verbs, this.#resource, this.#self, kind) };
  }

  #readAndWrite(
    suffix: string,
    verbs: readonly string[],
    kind: GroupVersionKind,
    schema: JsonObject,
    what: string,
  ): JsonObject {
    const operations: JsonObject = {};
    const id = (verb: string): string => `${verb}${this.#prefix}${this.#subject}${suffix}`;
    if (verbs.includes('get')) {
      operations['get'] = this.#operation({
        id: id('read'),
        action: 'get',
        description: `Read ${article(what)}.`,
        kind,
        ...(this.#like === 'custom' ? { parameters: customReadParameters } : {}),
        answer: schema,
      });
    }
    if (verbs.includes('patch')) {
      operations['patch'] = this.#operation({
        id: id('patch'),
        action: 'patch',
        description: `Change parts of ${article(what)}.`,
        kind,
        parameters: patchParameters,
        body: metaReference('Patch'),
        codes: this.#like === 'custom' ? [200] : [200, 201],
        answer: schema,
      });
    }
    if (verbs.includes('update')) {
      operations['put'] = this.#operation({
        id: id('replace'),
        action: 'put',
        description: `Replace ${article(what)}.`,
        kind,
        parameters: writeParameters,
        body: schema,
        codes: [200, 201],
        answer: schema,
      });
    }
    return operations;
  }

  #subresource(subresource: OpenAPISubresource): JsonObject {
    const kind = this.#like === 'custom' ? this.#resource : (subresource.kind ?? this.#resource);
    const schema =
      subresource.kind === undefined ? this.#self : componentReference(componentName(subresource.kind, 'built-in'));
    const suffix = capitalized(subresource.name);
    const what = `${subresource.name} of a ${this.#resource.kind}`;
    const operations = this.#readAndWrite(suffix, subresource.verbs, kind, schema, what);
    if (subresource.verbs.includes('create')) {
      operations['post'] = this.#operation({
        id: `create${this.#prefix}${this.#subject}${suffix}`,
        action: 'post',
        description: `Create ${what}.`,
        kind,
        parameters: writeParameters,
        body: schema,
        codes: [200, 201, 202],
        answer: schema,
      });
    }
    return operations;
  }

  /** The old way to watch: a path instead of a parameter. */
  #watchPaths(scope: string): void {
    const { kind, resource, namespaced } = this.#resource;
    const watch = (id: string, action: string): JsonObject => ({
      get: this.#operation({
        id: `watch${this.#prefix}${id}`,
        action,
        description: `Deprecated: use the parameter watch of a list of ${kind}.`,
        kind: this.#resource,
        answer: metaReference('WatchEvent'),
        streams: true,
      }),
    });
    const base = `${this.#base}/watch`;
    this.#put(`${base}${scope}/${resource}`, watch(`${this.#subject}List`, 'watchlist'), [
      ...listParameters,
      ...this.#common(false),
    ]);
    this.#put(`${base}${scope}/${resource}/{name}`, watch(this.#subject, 'watch'), [
      ...listParameters,
      ...this.#common(true),
    ]);
    if (namespaced) {
      this.#put(`${base}/${resource}`, watch(`${kind}ListForAllNamespaces`, 'watchlist'), [
        ...listParameters,
        pathParameters.pretty,
      ]);
    }
  }

  #operation(operation: Operation): JsonObject {
    const like = this.#like;
    const types = [...readTypes[like], ...(operation.streams === true ? streamTypes[like] : [])];
    const answer: JsonObject = { description: 'OK', content: contentOf(types, operation.answer) };
    const responses: JsonObject = {};
    for (const code of operation.codes ?? [200]) {
      responses[String(code)] =
        code === 200 ? answer : { ...answer, description: code === 201 ? 'Created' : 'Accepted' };
    }
    responses['401'] = { description: 'Unauthorized' };
    const accepted = operation.action === 'patch' ? patchTypes[like] : bodyTypes[like];
    const optional = operation.action === 'delete' || operation.action === 'deletecollection';
    return {
      description: operation.description,
      operationId: operation.id,
      ...(operation.parameters === undefined ? {} : { parameters: [...operation.parameters] }),
      ...(operation.body === undefined
        ? {}
        : { requestBody: { content: contentOf(accepted, operation.body), ...(optional ? {} : { required: true }) } }),
      responses,
      tags: [this.#names.tag],
      'x-kubernetes-action': operation.action,
      'x-kubernetes-group-version-kind': {
        group: operation.kind.group,
        kind: operation.kind.kind,
        version: operation.kind.version,
      },
    };
  }
}

/** Parameters in the order of their names, as in Kubernetes' documents. */
const inOrder = (parameters: readonly Json[]): Json[] =>
  parameters.toSorted((a, b) => (parameterName(a) < parameterName(b) ? -1 : 1));

const article = (what: string): string => (what.includes(' of a ') ? `the ${what}` : `a ${what}`);

/** The same schema for each media type. */
function contentOf(types: readonly string[], schema: JsonObject): JsonObject {
  const content: JsonObject = {};
  for (const type of types) content[type] = { schema };
  return content;
}
