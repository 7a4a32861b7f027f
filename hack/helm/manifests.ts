import { parseYaml } from '../../packages/apimachinery/src/index.ts';

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}
interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly resources: { readonly limits?: { readonly memory?: string } };
  readonly ports: readonly { readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}
interface Source {
  readonly secret?: {
    readonly name: string;
    readonly items: readonly { readonly key: string; readonly path: string }[];
  };
  readonly configMap?: { readonly name: string; readonly items: readonly { readonly path: string }[] };
}
interface Volume {
  readonly name: string;
  readonly projected?: { readonly sources: readonly Source[] };
}
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly secretName?: string;
    readonly isCA?: boolean;
    readonly issuerRef?: { readonly name: string };
    readonly selector?: Readonly<Record<string, unknown>>;
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly securityContext: Readonly<Record<string, unknown>>;
        readonly automountServiceAccountToken: boolean;
        readonly containers: readonly Container[];
        readonly volumes: readonly Volume[];
      };
    };
    readonly ports?: readonly { readonly port: number; readonly nodePort?: number }[];
    readonly dnsNames?: readonly string[];
    readonly ipAddresses?: readonly string[];
  };
}

/** The objects of a text of YAML documents. */
export function manifestsOf(text: string): Manifest[] {
  return text
    .split(/^---$/m)
    .map((document) => parseYaml(document) as unknown as Manifest | null)
    .filter((manifest) => manifest !== null);
}
