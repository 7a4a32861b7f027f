import {
  authorizerType,
  CelEnvironment,
  celTypes,
  CelIssues,
  compileExpression,
  functionTable,
  jsonPatchLibrary,
  kubernetesFunctions,
  patchStructs,
  resourceCheckType,
  typeText,
  type CelProgram,
  type CelType,
  type SchemaType,
} from '@multiplane/schema';

/*
 * The language of expressions in admission: which names they may use, and of which types those are.
 */

const leaf = (type: CelType): SchemaType => ({ type, schema: {}, maxElements: 0, minSize: 1 });
const text = leaf(celTypes.stringType);
const integer = leaf(celTypes.intType);
const time = leaf(celTypes.timestampType);
const anything = leaf(celTypes.dynType);
const listOf = (item: SchemaType): SchemaType => ({ ...leaf(celTypes.listType(item.type)), item });
const mapOf = (item: SchemaType): SchemaType => ({
  ...leaf(celTypes.mapType(celTypes.stringType, item.type)),
  item,
});
function struct(name: string, fields: Readonly<Record<string, SchemaType>>): SchemaType {
  const entries = Object.entries(fields);
  return {
    ...leaf(celTypes.structType(name, new Map(entries.map(([field, { type }]) => [field, type])))),
    fields: new Map(entries.map(([field, type]) => [field, { name: field, type }])),
  };
}

const kindType = struct('kubernetes.GroupVersionKind', { group: text, version: text, kind: text });
const resourceType = struct('kubernetes.GroupVersionResource', { group: text, version: text, resource: text });

/** What `request` is: the AdmissionRequest without its objects and its uid. */
export const requestType = struct('kubernetes.AdmissionRequest', {
  kind: kindType,
  resource: resourceType,
  subResource: text,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: text,
  name: text,
  namespace: text,
  operation: text,
  userInfo: struct('kubernetes.UserInfo', {
    username: text,
    uid: text,
    groups: listOf(text),
    extra: mapOf(listOf(text)),
  }),
  dryRun: leaf(celTypes.boolType),
  options: anything,
});

/** What `namespaceObject` is; null for objects of cluster-scoped kinds. */
export const namespaceType = struct('kubernetes.Namespace', {
  metadata: struct('kubernetes.NamespaceMetadata', {
    name: text,
    generateName: text,
    namespace: text,
    labels: mapOf(text),
    annotations: mapOf(text),
    UID: text,
    creationTimestamp: time,
    deletionGracePeriodSeconds: integer,
    deletionTimestamp: time,
    generation: integer,
    resourceVersion: text,
    finalizers: listOf(text),
  }),
  spec: struct('kubernetes.NamespaceSpec', { finalizers: listOf(text) }),
  status: struct('kubernetes.NamespaceStatus', { phase: text }),
});

const mutatingFunctions = new Map([...kubernetesFunctions, ...functionTable(jsonPatchLibrary)]);

export interface AdmissionNames {
  /** The policy has a kind of parameters. */
  readonly params: boolean;
  readonly authorizer: boolean;
  /** Of the policy, by name; undefined: the place has none, not even an empty `variables`. */
  readonly variables?: ReadonlyMap<string, CelType> | undefined;
  /** Configurations and patches may be made. */
  readonly patches?: boolean | undefined;
  /** The type of `object` and `oldObject` where it is known. */
  readonly object?: CelType | undefined;
}

/** The names that an expression of admission may use. */
export function admissionEnvironment(names: AdmissionNames): CelEnvironment {
  const object = names.object ?? celTypes.dynType;
  const { variables } = names;
  return new CelEnvironment({
    functions: names.patches === true ? mutatingFunctions : kubernetesFunctions,
    variables: {
      object,
      oldObject: object,
      request: requestType.type,
      namespaceObject: namespaceType.type,
      ...(names.params ? { params: celTypes.dynType } : {}),
      ...(names.authorizer ? { authorizer: authorizerType } : {}),
      // Kubernetes' type checker does not declare it, and warns of each expression that uses it.
      ...(names.authorizer && names.object === undefined ? { 'authorizer.requestResource': resourceCheckType } : {}),
      ...(variables === undefined ? {} : { variables: celTypes.structType('kubernetes.variables', variables) }),
    },
    ...(names.patches === true ? { structs: patchStructs } : {}),
  });
}

/** Texts of the types that an expression may have, as {@link typeText} prints them; undefined: any. */
export type WantedTypes = readonly string[] | undefined;

type Compiled =
  | { readonly program: CelProgram; readonly problem?: undefined; readonly isInternal?: undefined }
  | { readonly program?: undefined; readonly problem: string; readonly isInternal?: true };

/**
 * An expression of a policy or webhook. It is compiled lazily, on first use: a policy may have
 * hundreds, and not all at once may hold the event loop.
 */
export class AdmissionExpression {
  readonly source: string;
  readonly #environment: () => CelEnvironment;
  readonly #wanted: WantedTypes;
  #compiled: Compiled | undefined;

  constructor(source: string, environment: () => CelEnvironment, wanted: WantedTypes) {
    this.source = source;
    this.#environment = environment;
    this.#wanted = wanted;
  }

  /** Undefined: see {@link problem}. */
  get program(): CelProgram | undefined {
    return this.#get().program;
  }

  /** Why it cannot be used, worded as errors of its field are. */
  get problem(): string | undefined {
    return this.#get().problem;
  }

  /** The expression compiles, but a constant of it cannot be made: for Kubernetes that is an internal error. */
  get isInternalProblem(): boolean {
    return this.#get().isInternal === true;
  }

  #get(): Compiled {
    return (this.#compiled ??= compile(this.source, this.#environment(), this.#wanted));
  }
}

function compile(source: string, environment: CelEnvironment, wanted: WantedTypes): Compiled {
  let program: CelProgram;
  try {
    program = compileExpression(source, environment);
  } catch (error) {
    if (!(error instanceof CelIssues)) throw error;
    return { problem: `compilation failed: ${error.message}` };
  }
  const type = typeText(program.type ?? celTypes.dynType);
  if (wanted === undefined || wanted.includes(type)) {
    if (program.problem === undefined) return { program };
    return { problem: `program instantiation failed: ${program.problem}`, isInternal: true };
  }
  // The null type is the one that is printed in two ways.
  const names = wanted.map((name) => (name === 'null' ? 'null_type' : name));
  const expected = names.length === 1 ? names[0] : `one of [${names.join(' ')}]`;
  return { problem: `must evaluate to ${expected} but got ${type}` };
}
