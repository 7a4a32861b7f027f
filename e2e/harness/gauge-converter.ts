import { WebhookServer } from './webhook-server.ts';

interface Review {
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Gauge[] };
}
interface Gauge {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly celsius?: number; readonly kelvin?: number };
}

/** Version v1 of a gauge measures in celsius, v2 in kelvin: only this webhook knows how they relate. */
export class GaugeConverter implements AsyncDisposable {
  readonly #server: WebhookServer;
  readonly #said: Said;

  private constructor(server: WebhookServer, said: Said) {
    this.#server = server;
    this.#said = said;
  }

  static async start(): Promise<GaugeConverter> {
    const said: Said = { batches: [], refusal: undefined };
    return new GaugeConverter(await WebhookServer.start('gauges', (review: Review) => convert(review, said)), said);
  }

  get clientConfig(): { readonly url: string; readonly caBundle: string } {
    const { url, caBundle } = this.#server;
    return { url, caBundle };
  }

  /** Names of what it was asked for, a list for each call. */
  get batches(): string[][] {
    return this.#said.batches;
  }

  /** What it refuses everything with; undefined: it converts. */
  set refusal(text: string | undefined) {
    this.#said.refusal = text;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

interface Said {
  readonly batches: string[][];
  refusal: string | undefined;
}

function convert({ request: { uid, desiredAPIVersion, objects } }: Review, { batches, refusal }: Said): object {
  batches.push(objects.map(({ metadata }) => metadata.name));
  const convertedObjects = objects.map((object) => {
    const { celsius = 0, kelvin = 0 } = object.spec;
    const spec = desiredAPIVersion.endsWith('v2') ? { kelvin: celsius + 273 } : { celsius: kelvin - 273 };
    return { ...object, apiVersion: desiredAPIVersion, spec };
  });
  const response =
    refusal === undefined
      ? { uid, result: { status: 'Success' }, convertedObjects }
      : { uid, result: { status: 'Failure', message: refusal }, convertedObjects: [] };
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response };
}
