import { readFileSync } from 'node:fs';
import type { OptionTable } from '../options/option-table.ts';
import { OptionError } from '../options/parse-value.ts';
import { parseTracingConfiguration } from './tracing-configuration.ts';
import type { Tracer } from './tracer.ts';

/** The flag of every server; name and format as of kube-apiserver. */
export const tracingOptionTable = {
  'tracing-config-file': {
    type: 'text',
    description:
      'File with a TracingConfiguration (apiserver.config.k8s.io/v1): exports traces to an OpenTelemetry collector.',
  },
} as const satisfies OptionTable;

export interface TracerOptions {
  readonly tracingConfigFile?: string | undefined;
  /** `service.name` of the exported spans. */
  readonly service: string;
  /** Version of this program. */
  readonly version: string;
}

/** The tracer of the flag; undefined without it, and then no tracing code is loaded. Throws OptionError for an unusable file. */
export async function openTracer(
  { tracingConfigFile: file, service, version }: TracerOptions,
  modules: { readonly decode: (text: string) => unknown },
): Promise<Tracer | undefined> {
  if (file === undefined) return undefined;
  try {
    const configuration = parseTracingConfiguration(readFileSync(file, 'utf8'), file, modules);
    const { OpenTelemetryTracer } = await import('./open-telemetry-tracer.ts');
    return new OpenTelemetryTracer({ ...configuration, service, version });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new OptionError(`--tracing-config-file: ${text}`, { cause: error });
  }
}
