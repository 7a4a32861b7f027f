import { ConfigurationDocument, type ConfigurationSchema } from '../configuration/configuration-document.ts';
import { ConfigurationError } from '../configuration/configuration-error.ts';

/** A TracingConfiguration of Kubernetes. */
export interface TracingConfiguration {
  /** gRPC target of the collector. */
  readonly endpoint: string;
  /** Share of the requests without a trace that start one, of a million. */
  readonly samplingRatePerMillion: number;
}

const group = 'apiserver.config.k8s.io';
const versions = ['v1', 'v1beta1', 'v1alpha1'];
const defaultEndpoint = 'localhost:4317';
const million = 1_000_000;

const schema: ConfigurationSchema = {
  type: 'object',
  description: 'a TracingConfiguration',
  required: ['apiVersion', 'kind'],
  additionalProperties: false,
  properties: {
    apiVersion: { enum: versions.map((version) => `${group}/${version}`) },
    kind: { const: 'TracingConfiguration' },
    endpoint: { type: 'string' },
    samplingRatePerMillion: { type: 'integer', minimum: 0, maximum: million },
  },
};

type Document = Partial<TracingConfiguration>;

/**
 * Reads the file of `--tracing-config-file`; `file` names it in errors. Rules and defaults are those of kube-apiserver: no
 * TLS, `localhost:4317`, and without a rate only requests of trusted callers that are sampled already. Throws ConfigurationError.
 */
export function parseTracingConfiguration(
  text: string,
  file: string,
  modules: { readonly decode: (text: string) => unknown },
): TracingConfiguration {
  const { endpoint = defaultEndpoint, samplingRatePerMillion = 0 } = new ConfigurationDocument<Document>(
    { schema },
    modules,
  ).parse(text, file);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(endpoint)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'dns' && scheme !== 'unix' && scheme !== 'unix-abstract')
    throw new ConfigurationError(file, [
      `endpoint: ${JSON.stringify(endpoint)} has an unsupported scheme; options are none, dns, unix, or unix-abstract`,
    ]);
  return { endpoint: endpoint === '' ? defaultEndpoint : endpoint, samplingRatePerMillion };
}
