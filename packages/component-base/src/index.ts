/** What every process needs: options, logging, metrics, health, lifecycle, clock, backoff, PKI. */
export type { BackoffModules, BackoffOptions } from './backoff/backoff.ts';
export { Backoff } from './backoff/backoff.ts';
export type { RetryOptions } from './backoff/retry.ts';
export { retry } from './backoff/retry.ts';
export type { Clock, Timer } from './clock/clock.ts';
export { sleepOn, systemClock } from './clock/clock.ts';
export type { ListElement } from './collections/linked-list.ts';
export { LinkedList } from './collections/linked-list.ts';
export type { ConfigurationDocumentModules, ConfigurationSchema } from './configuration/configuration-document.ts';
export { ConfigurationDocument } from './configuration/configuration-document.ts';
export { ConfigurationError } from './configuration/configuration-error.ts';
export { writeFileAtomic } from './files/write-file-atomic.ts';
export type { CheckResult, HealthCheck, HealthCheckOptions, HealthEndpoint } from './health/health-checks.ts';
export { HealthChecks, healthEndpoints } from './health/health-checks.ts';
export type { FaultyObject, ObjectFaultsModules } from './health/object-faults.ts';
export { faultKinds, ObjectFaults } from './health/object-faults.ts';
export { StartupUnfinishedError } from './health/startup-unfinished-error.ts';
export type { HealthRequest, HealthResponse } from './health/render-health.ts';
export { parseHealthRequest, renderHealth } from './health/render-health.ts';
export { connectionHeader } from './http/connection-header.ts';
export type { EventLoopMonitorModules, EventLoopMonitorOptions } from './lifecycle/event-loop-monitor.ts';
export { EventLoopMonitor } from './lifecycle/event-loop-monitor.ts';
export type { IdleGarbageCollectionModules } from './lifecycle/idle-garbage-collection.ts';
export { IdleGarbageCollection } from './lifecycle/idle-garbage-collection.ts';
export type { LifecycleModules, LifecycleOptions } from './lifecycle/lifecycle.ts';
export { Lifecycle, UnexpectedEndError } from './lifecycle/lifecycle.ts';
export type { Runnable } from './lifecycle/runnable.ts';
export { loop } from './lifecycle/runnable.ts';
export type { SignalModules, SignalSource } from './lifecycle/signals.ts';
export { ShutdownSignal } from './lifecycle/signals.ts';
export { untilAborted } from './lifecycle/until-aborted.ts';
export { lazyLibrary } from './loading/lazy-library.ts';
export type { LoggerModules, LoggerOptions } from './logging/create-logger.ts';
export { createLogger, silentLogger } from './logging/create-logger.ts';
export type { LogFields, LogLevel, Logger } from './logging/logger.ts';
export { loggingOptionTable } from './logging/logging-options.ts';
export { LimitedErrors } from './logging/limited-errors.ts';
export { failureLevel, logFailures, logLevels } from './logging/logger.ts';
export { redactText, redacted } from './logging/redact.ts';
export type { Labels } from './metrics/label-bounds.ts';
export type {
  Counter,
  CounterOptions,
  Gauge,
  GaugeOptions,
  Histogram,
  HistogramOptions,
  MetricOptions,
} from './metrics/metrics-registry.ts';
export { MetricsRegistry, durationBuckets, maxSeries, metricsContentType } from './metrics/metrics-registry.ts';
export { addProcessMetrics, addProcessStartTime } from './metrics/process-metrics.ts';
export type { Completed } from './options/completed.ts';
export { markCompleted } from './options/completed.ts';
export { parseDuration } from './options/duration.ts';
export type { FeatureSpec } from './options/feature-gates.ts';
export { cacheApisGate, FeatureGates } from './options/feature-gates.ts';
export type { HelpInput } from './options/help.ts';
export { renderHelp } from './options/help.ts';
export { readOptionFile, withOption } from './options/option-file.ts';
export type { OptionSpec, OptionTable, OptionValues } from './options/option-table.ts';
export type { ParseInput, ParsedOptions } from './options/parse-options.ts';
export { parseOptions } from './options/parse-options.ts';
export { OptionError } from './options/parse-value.ts';
export type { Command, CommandGroup, Program, ProgramOutput, SubCommand } from './options/run-command.ts';
export { runCommand } from './options/run-command.ts';
export type { Certificate, CertificateFiles, ClientIdentity, ServerIdentity } from './pki/certificate.ts';
export type {
  CertificateWatcherModules,
  CertificateWatcherOptions,
  ReadText,
  Watched,
} from './pki/certificate-watcher.ts';
export { CertificateWatcher, checkPair, parseCertificates } from './pki/certificate-watcher.ts';
export { readIfPresent } from './pki/stored-pair.ts';
export { readVerificationKey } from './pki/verification-key.ts';
export { ensureLocalAuthority, ensureServingCertificate, servingHosts } from './pki/self-signed-serving.ts';
export type { CounterSeries, HistogramSeries } from './metrics/series.ts';
export { EventLoopScheduler } from './scheduling/event-loop-scheduler.ts';
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
export type { TracedRequest, Tracer } from './tracing/tracer.ts';
export { openTracer, tracingOptionTable } from './tracing/tracing-options.ts';
