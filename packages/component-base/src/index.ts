/** What every process needs: options, logging, metrics, health, lifecycle, clock, backoff, PKI. */
export { Backoff } from './backoff/backoff.ts';
export { retry } from './backoff/retry.ts';
export type { Clock, Timer } from './clock/clock.ts';
export { sleepOn, systemClock } from './clock/clock.ts';
export type { ListElement } from './collections/linked-list.ts';
export { LinkedList } from './collections/linked-list.ts';
export type { ConfigurationSchema } from './configuration/configuration-document.ts';
export { ConfigurationDocument } from './configuration/configuration-document.ts';
export { ConfigurationError } from './configuration/configuration-error.ts';
export { makeRootDirectory } from './files/root-directory.ts';
export { writeFileAtomic } from './files/write-file-atomic.ts';
export type { CheckResult, HealthEndpoint } from './health/health-checks.ts';
export { HealthChecks, healthEndpoints } from './health/health-checks.ts';
export type { FaultyObject } from './health/object-faults.ts';
export { ObjectFaults } from './health/object-faults.ts';
export { StartupUnfinishedError } from './health/startup-unfinished-error.ts';
export { parseHealthRequest, renderHealth } from './health/render-health.ts';
export { connectionHeader } from './http/connection-header.ts';
export { EventLoopMonitor } from './lifecycle/event-loop-monitor.ts';
export { IdleGarbageCollection } from './lifecycle/idle-garbage-collection.ts';
export { Lifecycle } from './lifecycle/lifecycle.ts';
export type { Runnable } from './lifecycle/runnable.ts';
export { loop } from './lifecycle/runnable.ts';
export type { SignalSource } from './lifecycle/signals.ts';
export { ShutdownSignal } from './lifecycle/signals.ts';
export { untilAborted } from './lifecycle/until-aborted.ts';
export { lazyLibrary } from './loading/lazy-library.ts';
export { createLogger, silentLogger } from './logging/create-logger.ts';
export type { LogFields, Logger } from './logging/logger.ts';
export { loggingOptionTable } from './logging/logging-options.ts';
export { LimitedErrors } from './logging/limited-errors.ts';
export { failureLevel, logFailures } from './logging/logger.ts';
export type { Counter, Gauge, Histogram } from './metrics/metrics-registry.ts';
export { MetricsRegistry, durationBuckets, metricsContentType } from './metrics/metrics-registry.ts';
export { addProcessMetrics, addProcessStartTime } from './metrics/process-metrics.ts';
export type { Completed } from './options/completed.ts';
export { markCompleted } from './options/completed.ts';
export { parseDuration } from './options/duration.ts';
export { cacheApisGate, FeatureGates } from './options/feature-gates.ts';
export { readOptionFile, withOption } from './options/option-file.ts';
export { camelCase, type OptionTable, type OptionValues } from './options/option-table.ts';
export { parseOptions } from './options/parse-options.ts';
export { OptionError } from './options/parse-value.ts';
export { completeWords, type CompletedWord, type FlagNames } from './options/complete-words.ts';
export type { Command, CommandGroup, Program } from './options/run-command.ts';
export { runCommand } from './options/run-command.ts';
export { suggestionText } from './options/similar-names.ts';
export type { Certificate, CertificateFiles } from './pki/certificate.ts';
export type { ReadText, Watched } from './pki/certificate-watcher.ts';
export { CertificateWatcher, checkPair, parseCertificates } from './pki/certificate-watcher.ts';
export { readIfPresent } from './pki/stored-pair.ts';
export { readVerificationKey } from './pki/verification-key.ts';
export { ensureLocalAuthority, ensureServingCertificate, servingHosts } from './pki/self-signed-serving.ts';
export type { CounterSeries, HistogramSeries } from './metrics/series.ts';
export { EventLoopScheduler } from './scheduling/event-loop-scheduler.ts';
export { RequestWork } from './scheduling/request-work.ts';
export { TimeSlicedQueue } from './scheduling/time-sliced-queue.ts';
export type { TimeSlices } from './scheduling/time-slices.ts';
export {
  eventLoopScheduler,
  lowPriorityQueue,
  normalPriorityQueue,
  runInTimeSlices,
  timeSlices,
  yieldToEventLoop,
} from './scheduling/yield-to-event-loop.ts';
export type { Span, SpanAttributes } from './tracing/span.ts';
export { currentSpan, runAndEnd, traced, traceHeaders } from './tracing/span.ts';
export type { Tracer } from './tracing/tracer.ts';
export { openTracer, tracingOptionTable } from './tracing/tracing-options.ts';
