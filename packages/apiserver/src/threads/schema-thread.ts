import { parentPort } from 'node:worker_threads';
import {
  encodeJson,
  omittedValue,
  parseJson,
  type FieldError,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { apiResourceSchemaErrors, crdSpecErrors, policyErrors, validateWebhooks } from '@multiplane/apis';
import { compileRules, SchemaCache, type CompiledSchema } from '@multiplane/schema';
import { ExpressionJobs, type ExpressionAnswer, type ExpressionJob } from './expression-job.ts';

/** Objects travel as JSON, which loses nothing on its way. */
export type SchemaJob =
  | { readonly kind: 'definition'; readonly crd: string; readonly old: string | undefined }
  | {
      readonly kind: 'object';
      /** Of the schema. */
      readonly hash: string;
      /** The schema, unless the thread was given it before. */
      readonly schema: string | undefined;
      readonly object: string;
      readonly old: string | undefined;
      readonly subtree: 'status' | undefined;
    };

/** Everything that the thread does. */
export type ThreadJob = SchemaJob | ExpressionJob;
export type ThreadAnswer = SchemaAnswer | ExpressionAnswer;

/** A field error; its value as JSON, or that it is left out of messages. */
export type SentError = Omit<FieldError, 'value'> & { readonly value?: string; readonly omitted?: true };

export type SchemaAnswer =
  | { readonly errors: readonly SentError[]; readonly warnings: readonly string[] }
  /** The thread is a new one, or has forgotten the schema. */
  | { readonly missing: true };

const cache = new SchemaCache({ origin: 'custom', rules: compileRules, maxEntries: 200 });
const known = new Map<string, CompiledSchema>();

const expressions = new ExpressionJobs();

parentPort?.on('message', (job: ThreadJob) =>
  parentPort?.postMessage(job.kind === 'expression' ? expressions.evaluate(job) : answer(job)),
);

function answer(job: SchemaJob): SchemaAnswer {
  if (job.kind === 'definition') {
    const old = job.old === undefined ? undefined : objectOf(job.old);
    const definition = objectOf(job.crd);
    return { errors: errorsOf(definition, old).map(sent), warnings: [] };
  }
  const schema = schemaOf(job.hash, job.schema);
  if (schema === undefined) return { missing: true };
  const object = parseJson(job.object) as JsonObject;
  const old = job.old === undefined ? undefined : (parseJson(job.old) as JsonObject);
  const errors = schema.validate(object, { old, subtree: job.subtree }).map(sent);
  return { errors, warnings: schema.ruleWarnings(object) };
}

function errorsOf(definition: KubeObject, old: KubeObject | undefined): FieldError[] {
  const { kind } = definition;
  if (kind === 'APIResourceSchema') return apiResourceSchemaErrors(definition, old);
  if (kind.endsWith('WebhookConfiguration')) return validateWebhooks(definition);
  const ofPolicy = Object.hasOwn(policyErrors, kind) ? policyErrors[kind] : undefined;
  return ofPolicy === undefined ? crdSpecErrors(definition, old) : ofPolicy(definition);
}

function schemaOf(hash: string, source: string | undefined): CompiledSchema | undefined {
  let schema = known.get(hash);
  if (schema === undefined && source !== undefined) {
    schema = cache.get(parseJson(source) as JsonObject);
    known.set(hash, schema);
    if (known.size > 200) known.delete(known.keys().next().value as string);
  }
  return schema;
}

const objectOf = (text: string): KubeObject => parseJson(text) as unknown as KubeObject;

function sent({ value, ...error }: FieldError): SentError {
  if (value === omittedValue) return { ...error, omitted: true };
  return value === undefined ? error : { ...error, value: encodeJson(value) };
}
