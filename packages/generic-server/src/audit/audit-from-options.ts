import { readClientConfig, RestTransport } from '@multiplane/client';
import {
  readOptionFile,
  withOption,
  type Clock,
  type Logger,
  type OptionValues,
  type Runnable,
} from '@multiplane/component-base';
import type { AuditBackend, AuditEvent } from './audit-event.ts';
import { AuditLogBackend } from './audit-log-backend.ts';
import type { auditOptionTable } from './audit-options.ts';
import { AuditPolicy } from './audit-policy.ts';
import type { AuditModules } from '../filters/audit.ts';
import { auditWebhook } from './audit-webhook.ts';
import { BatchingBackend } from './batching-backend.ts';

export type AuditOptions = OptionValues<typeof auditOptionTable>;

/** Parameters of `--audit-log-mode=batch`. */
const logBatch = { bufferSize: 10_000, maxBatchSize: 100, maxBatchWaitMs: 1_000 };

/** Creates the audit modules from the flags; undefined without a policy or a backend. Throws OptionError. */
export function auditFromOptions(
  options: AuditOptions,
  modules: BackendModules & Pick<AuditModules, 'annotationsOf'>,
): (AuditModules & { readonly runnable: Runnable }) | undefined {
  const { auditPolicyFile: file } = options;
  const backends = [logBackend(options, modules), webhookBackend(options, modules)].filter((b) => b !== undefined);
  if (file === undefined || backends.length === 0) return undefined;
  const flag = 'audit-policy-file';
  const text = readOptionFile(flag, file);
  const policy = withOption(flag, () => AuditPolicy.parse(text, file));
  const { annotationsOf, clock, logger } = modules;
  const backend = new UnionBackend(backends);
  return {
    policy,
    backend,
    // To be stopped after the listener, so that the events of all requests are recorded.
    runnable: { name: 'audit', start: () => Promise.resolve(), stop: () => backend.close() },
    clock,
    logger,
    isStrict: [options.auditLogMode, options.auditWebhookMode].includes('blocking-strict'),
    annotationsOf,
  };
}

interface BackendModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly writeOut: (text: string) => void;
}

function logBackend(options: AuditOptions, modules: BackendModules): AuditBackend | undefined {
  if (options.auditLogPath === undefined) return undefined;
  const log = new AuditLogBackend(
    {
      path: options.auditLogPath,
      format: options.auditLogFormat === 'legacy' ? 'legacy' : 'json',
      maxSizeMegabytes: options.auditLogMaxsize,
      maxBackups: options.auditLogMaxbackup,
      maxAgeDays: options.auditLogMaxage,
    },
    modules,
  );
  if (options.auditLogMode !== 'batch') return log;
  const batches = new BatchingBackend(logBatch, {
    ...modules,
    send: async (events) => void (await Promise.all(events.map((event) => log.process(event)))),
  });
  return { process: (event) => batches.process(event), close: () => batches.close().then(() => log.close()) };
}

function webhookBackend(options: AuditOptions, modules: BackendModules): AuditBackend | undefined {
  const { auditWebhookConfigFile: file } = options;
  if (file === undefined) return undefined;
  const config = withOption('audit-webhook-config-file', () => readClientConfig({ file }));
  const transport = new RestTransport({ config, userAgent: 'multiplane-audit' });
  const { pathname, search } = new URL(config.server);
  const send = auditWebhook(
    { path: pathname + search, initialBackoffMs: options.auditWebhookInitialBackoff },
    { transport, clock: modules.clock },
  );
  const close = (): Promise<void> => Promise.resolve(transport.close());
  if (options.auditWebhookMode !== 'batch') return { process: (event) => send([event]), close };
  const batches = new BatchingBackend(
    {
      bufferSize: options.auditWebhookBatchBufferSize,
      maxBatchSize: options.auditWebhookBatchMaxSize,
      maxBatchWaitMs: options.auditWebhookBatchMaxWait,
    },
    { ...modules, send },
  );
  return { process: (event) => batches.process(event), close: () => batches.close().then(close) };
}

/** Sends every event to all backends. */
class UnionBackend implements AuditBackend {
  readonly #backends: readonly AuditBackend[];
  constructor(backends: readonly AuditBackend[]) {
    this.#backends = backends;
  }
  async process(event: AuditEvent): Promise<void> {
    await Promise.all(this.#backends.map((backend) => backend.process(event)));
  }
  async close(): Promise<void> {
    await Promise.all(this.#backends.map((backend) => backend.close()));
  }
}
