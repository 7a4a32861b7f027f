import {
  encodeJson,
  maxCauses,
  omittedValue,
  parseJson,
  type FieldError,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { apiResourceSchemaErrors, crdSpecErrors, policyErrors, validateWebhooks } from '@multiplane/apis';
import { compileRules, SchemaCache, type CompiledSchema } from '@multiplane/schema';
import { ExpressionJobs, type ExpressionJobResult, type ExpressionJob } from './expression-job.ts';
import { serveJobs } from './serve-jobs.ts';

/** A check in the worker thread. Objects are sent as JSON, which is lossless. */
export type SchemaJob =
  | { readonly kind: 'definition'; readonly crd: string; readonly old: string | undefined }
  | {
      readonly kind: 'object';
      /** Hash of the schema. */
      readonly hash: string;
      /** The schema, unless the thread has it already. */
      readonly schema: string | undefined;
      readonly object: string;
      readonly old: string | undefined;
      readonly subtree: 'status' | undefined;
      readonly beside: readonly FieldError[];
      readonly metadataErrors: readonly FieldError[];
    };

/** All jobs of the thread. */
export type ThreadJob = SchemaJob | ExpressionJob;
export type ThreadAnswer = SchemaAnswer | ExpressionJobResult;

/** A field error with its value as JSON, or a flag that the value is omitted from messages. */
export type SentError = Omit<FieldError, 'value'> & { readonly value?: string; readonly omitted?: true };

/** `more`: errors beyond {@link maxCauses}, which no response contains. */
export interface SentErrors {
  readonly errors: readonly SentError[];
  readonly more: number;
}

export type SchemaAnswer =
  | (SentErrors & { readonly warnings: readonly string[]; readonly cost: number })
  /** The thread does not have the schema: it is new, or has evicted it. */
  | { readonly missing: true };

const cache = new SchemaCache({ origin: 'custom', rules: compileRules, maxEntries: 200 });
const schemas = new Map<string, CompiledSchema>();

const expressions = new ExpressionJobs();

serveJobs((job: ThreadJob): ThreadAnswer => (job.kind === 'expression' ? expressions.evaluate(job) : check(job)));

function check(job: SchemaJob): SchemaAnswer {
  if (job.kind === 'definition') {
    const old = job.old === undefined ? undefined : objectOf(job.old);
    const definition = objectOf(job.crd);
    return { ...encodeErrors(errorsOf(definition, old)), warnings: [], cost: 0 };
  }
  const schema = schemaOf(job.hash, job.schema);
  if (schema === undefined) return { missing: true };
  const object = parseJson(job.object) as JsonObject;
  const old = job.old === undefined ? undefined : (parseJson(job.old) as JsonObject);
  const { subtree, beside, metadataErrors } = job;
  let cost = 0;
  const onCost = (units: number): void => {
    cost += units;
  };
  const errors = schema.validate(object, { old, subtree, beside, metadataErrors, onCost });
  return { ...encodeErrors(errors), warnings: schema.ruleWarnings(object), cost };
}

function errorsOf(definition: KubeObject, old: KubeObject | undefined): FieldError[] {
  const { kind } = definition;
  if (kind === 'APIResourceSchema') return apiResourceSchemaErrors(definition, old);
  if (kind.endsWith('WebhookConfiguration')) return validateWebhooks(definition);
  const ofPolicy = Object.hasOwn(policyErrors, kind) ? policyErrors[kind] : undefined;
  return ofPolicy === undefined ? crdSpecErrors(definition, old) : ofPolicy(definition);
}

function schemaOf(hash: string, source: string | undefined): CompiledSchema | undefined {
  let schema = schemas.get(hash);
  if (schema === undefined && source !== undefined) {
    schema = cache.get(parseJson(source) as JsonObject);
    schemas.set(hash, schema);
    if (schemas.size > 200) schemas.delete(schemas.keys().next().value as string);
  }
  return schema;
}

const objectOf = (text: string): KubeObject => parseJson(text) as unknown as KubeObject;

/** The event loop would deserialize 200,000 errors in one step of half a second. */
const encodeErrors = (errors: readonly FieldError[]): SentErrors => ({
  errors: errors.slice(0, maxCauses).map(encodeError),
  more: Math.max(0, errors.length - maxCauses),
});

function encodeError({ value, ...error }: FieldError): SentError {
  if (value === omittedValue) return { ...error, omitted: true };
  return value === undefined ? error : { ...error, value: encodeJson(value) };
}
