import { type JsonObject, type KubeObject, statusErrors } from '@multiplane/apimachinery';
import type { ConversionRequest } from '../src/webhooks/conversion-review.ts';

export const fooPath = (version: string, rest = ''): string =>
  `/apis/example.com/${version}/namespaces/default/foos${rest}`;

/** The versions name a field differently: v1 has `size`, v2 has `metres`. */
export function fooDefinition(storage: 'v1' | 'v2' = 'v1', defaults = true): KubeObject {
  const version = (name: string, field: string): JsonObject => ({
    name,
    served: true,
    storage: name === storage,
    subresources: { status: {}, scale: { specReplicasPath: `.spec.${field}`, statusReplicasPath: '.status.n' } },
    selectableFields: [{ jsonPath: `.spec.${field}` }],
    additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: `.spec.${field}` }],
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: {
              [field]: { type: 'integer' },
              ...(defaults ? { [`from-${name}`]: { type: 'boolean', default: true } } : {}),
            },
          },
          status: { type: 'object', properties: { n: { type: 'integer' } } },
        },
      },
    },
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'foos.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'foos', kind: 'Foo' },
      versions: [version('v1', 'size'), version('v2', 'metres')],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { url: 'https://hook.example.com/convert' },
        },
      },
    },
  };
}

/** A conversion webhook with its requests and its behaviour. */
export class ConversionHook {
  readonly asked: { readonly desired: string; readonly names: string[]; readonly list: boolean }[] = [];
  /** The received objects. */
  readonly sent: KubeObject[] = [];
  failure: string | undefined;
  /** Delays the response. */
  gate: Promise<void> | undefined;

  readonly convert = async (request: ConversionRequest): Promise<KubeObject[]> => {
    const { desired, objects, list, signal } = request;
    this.asked.push({ desired, names: objects.map(({ metadata }) => metadata.name ?? ''), list });
    this.sent.push(...objects.map((object) => structuredClone(object)));
    if (this.gate !== undefined)
      await Promise.race([
        this.gate,
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      ]);
    if (this.failure !== undefined) throw statusErrors.untyped(this.failure);
    return objects.map((object) => {
      const spec = { ...(object['spec'] as JsonObject | undefined) };
      const [from, to] = desired.endsWith('v2') ? ['size', 'metres'] : ['metres', 'size'];
      if (spec[from] !== undefined) spec[to] = spec[from];
      delete spec[from];
      return { ...object, apiVersion: desired, spec };
    });
  };
}

export const foo = (version: string, name: string, spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: `example.com/${version}`,
  kind: 'Foo',
  metadata: { name, ...metadata },
  spec,
});
export const specOf = (object: unknown): unknown => (object as KubeObject)['spec'];
