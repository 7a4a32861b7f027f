import {
  asJson,
  deepCopy,
  quote,
  setOwn,
  validateQualifiedName,
  type DeepReadonly,
  type FieldError,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { OutOfPatience, type CompiledSchema, type IsOverdue, type MayCompile } from '@multiplane/schema';
import { defaultStrategy, keepField, keepMetadata } from '../default-strategy.ts';
import { scaleSpecErrors, scaleStatusErrors, type ScaleRules } from './scale-rules.ts';
import type { Strategy, StrategyContext } from '../resource-definition.ts';

interface CustomResourceRules {
  readonly schema: CompiledSchema;
  /** The version has a status subresource: then main endpoint and status endpoint write apart. */
  readonly hasStatus: boolean;
  /** Paths of the scale subresource, with a leading dot as their definition has them. */
  readonly scale?: ScaleRules | undefined;
  /** Absent: names are subdomains. */
  readonly validateName?: Strategy['validateName'] | undefined;
  /** Absent: nothing is held for being deleted. */
  readonly finalizersOfDeletion?: Strategy['finalizersOfDeletion'] | undefined;
}

const json = (object: DeepReadonly<KubeObject>): JsonObject => asJson(object as KubeObject);

const standardFinalizers = ['orphan', 'foregroundDeletion', 'kubernetes'];

/** Names that say nothing of whose they are may clash with those of other writers. */
function finalizerWarnings(object: KubeObject, old: DeepReadonly<KubeObject> | undefined): string[] {
  const before = old?.metadata.finalizers ?? [];
  const added = new Set((object.metadata.finalizers ?? []).filter((name) => !before.includes(name)));
  return [...added].toSorted().flatMap((name) => {
    const warnings = validateQualifiedName(name);
    if (!name.includes('/') && !standardFinalizers.includes(name)) {
      const path = name.includes('.') ? ' including a path (/)' : '';
      warnings.push(
        `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`,
      );
    }
    return warnings.map((warning) => `metadata.finalizers: ${quote(name)}: ${warning}`);
  });
}

/** Cost units that rules may use on the main thread, about ten milliseconds; above that a worker evaluates them. */
const patience = 100_000;

/**
 * Validation by a schema: over several turns where much of it has to be compiled first, in a thread where its rules would
 * hold the event loop.
 */
class SchemaCheck {
  readonly #schema: CompiledSchema;
  /** Warnings that a thread found. */
  readonly #warnings = new WeakMap<KubeObject, readonly string[]>();

  constructor(schema: CompiledSchema) {
    this.#schema = schema;
  }

  errors(
    { slowly, cluster, user, request }: StrategyContext,
    object: KubeObject,
    options: {
      readonly old?: DeepReadonly<KubeObject> | undefined;
      readonly subtree?: 'status' | undefined;
      readonly beside: readonly FieldError[];
      readonly metadataErrors?: readonly FieldError[] | undefined;
    },
  ): FieldError[] | Promise<FieldError[]> {
    const old = options.old === undefined ? undefined : json(options.old);
    if (slowly === undefined) return this.#schema.validate(asJson(object), { ...options, old });
    const { costs } = slowly;
    costs?.check(cluster, user);
    const onCost = costs === undefined ? undefined : (units: number): void => costs.charge(cluster, units);
    const judge = (mayCompile: MayCompile, isOverdue: IsOverdue): FieldError[] =>
      this.#schema.validate(asJson(object), { ...options, old, patience, mayCompile, isOverdue, onCost });
    const judgeElsewhere = async (error: unknown): Promise<FieldError[]> => {
      if (!(error instanceof OutOfPatience)) throw error;
      const { errors, warnings, cost } = await slowly.object(cluster, this.#schema, object, { ...options, request });
      costs?.charge(cluster, cost);
      this.#warnings.set(object, warnings);
      return errors;
    };
    try {
      const errors = slowly.compiling(judge);
      return errors instanceof Promise ? errors.catch(judgeElsewhere) : errors;
    } catch (error) {
      return judgeElsewhere(error);
    }
  }

  warnings(object: KubeObject): readonly string[] {
    return this.#warnings.get(object) ?? this.#schema.ruleWarnings(asJson(object));
  }
}

const scaleErrors = (object: KubeObject, scale: ScaleRules | undefined): FieldError[] => [
  ...scaleSpecErrors(object, scale),
  ...scaleStatusErrors(object, scale),
];

/** What a write to a custom resource may change, and what is checked. */
export function customResourceStrategy({
  schema,
  hasStatus,
  scale,
  validateName,
  finalizersOfDeletion,
}: CustomResourceRules): Strategy {
  const check = new SchemaCheck(schema);
  return defaultStrategy({
    metadataChecks: { standardFinalizers: false, onUpdate: ['update'] },
    ...(validateName === undefined ? {} : { validateName }),
    ...(finalizersOfDeletion === undefined ? {} : { finalizersOfDeletion }),
    allowUnconditionalUpdate: false,
    managesGeneration: true,
    prepareForCreate: ({ keepsStatus }, object) => {
      if (hasStatus && keepsStatus !== true) delete object['status'];
    },
    validate: (context, object, metadataErrors) =>
      check.errors(context, object, { beside: scaleErrors(object, scale), metadataErrors }),
    prepareForUpdate: ({ keepsStatus }, object, old) => {
      if (hasStatus && keepsStatus !== true) keepField(object, old, 'status');
    },
    validateUpdate: (context, object, old) =>
      check.errors(context, object, { old, beside: scaleErrors(object, scale) }),
    warnings: (_context, object, old) => [...finalizerWarnings(object, old), ...check.warnings(object)],
  });
}

/** The status endpoint: nothing but the status comes from the client, metadata and everything else stay. */
export function customResourceStatusStrategy({ schema, scale }: CustomResourceRules): Strategy {
  const check = new SchemaCheck(schema);
  return defaultStrategy({
    metadataChecks: { standardFinalizers: false, onUpdate: ['update'] },
    allowUnconditionalUpdate: false,
    managesGeneration: true,
    prepareForUpdate: (_context, object, old) => {
      const before = deepCopy(json(old));
      for (const key of Object.keys(object)) if (key !== 'status' && key !== 'metadata') delete object[key];
      for (const key of Object.keys(before))
        if (key !== 'status' && key !== 'metadata') setOwn(asJson(object), key, before[key] ?? null);
      keepMetadata(object, old);
    },
    validateUpdate: (context, object, old) =>
      check.errors(context, object, { old, subtree: 'status', beside: scaleStatusErrors(object, scale) }),
    warnings: (_context, object) => [...check.warnings(object)],
  });
}
