import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';

/** One member of `data` of the API of Prometheus; what tests read of it. */
export interface PrometheusTarget {
  readonly labels: { readonly process?: string };
  readonly health: string;
  readonly lastError: string;
}

export interface PrometheusRule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
}

/** Reads the HTTP API of a Prometheus. */
export class PrometheusClient {
  readonly #url: string;
  constructor(url: string) {
    this.#url = url;
  }

  async #data(path: string): Promise<JsonObject> {
    const response = await fetch(`${this.#url}/api/v1/${path}`);
    const { data, error } = (await response.json()) as { readonly data?: Json; readonly error?: string };
    if (data === undefined || !isJsonObject(data)) throw new Error(`Prometheus refuses ${path}: ${error}`);
    return data;
  }

  async targets(): Promise<readonly PrometheusTarget[]> {
    return (await this.#data('targets'))['activeTargets'] as unknown as PrometheusTarget[];
  }

  async rules(): Promise<readonly PrometheusRule[]> {
    const { groups } = (await this.#data('rules')) as unknown as { groups: { rules: PrometheusRule[] }[] };
    return groups.flatMap(({ rules }) => rules);
  }

  /** The series of the result. Throws the error of Prometheus when it cannot evaluate the query. */
  async query(query: string): Promise<readonly Json[]> {
    return (await this.#data(`query?query=${encodeURIComponent(query)}`))['result'] as Json[];
  }
}
