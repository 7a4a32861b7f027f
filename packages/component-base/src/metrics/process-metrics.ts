import { readdirSync, readFileSync } from 'node:fs';
import type { MetricsRegistry } from './metrics-registry.ts';

/** When the process was started. A registry that another one does not contain has this metric of its own. */
export function addProcessStartTime(registry: MetricsRegistry): void {
  const seconds = Date.now() / 1000 - process.uptime();
  registry.gauge({
    name: 'process_start_time_seconds',
    help: 'Start of the process since the epoch.',
    read: () => seconds,
  });
}

/**
 * The `process_*` metrics that every Prometheus client exports, and memory of Node's own. Read at each scrape; those that
 * only Linux has (`/proc`) are left out elsewhere. Once per process: of several servers in one process, the outermost one.
 */
export function addProcessMetrics(registry: MetricsRegistry): void {
  const maxFds = maxOpenFds();
  const gauge = (name: string, help: string, read: () => number): unknown => registry.gauge({ name, help, read });
  registry.counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system processor time.',
    readAll: () => {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1e6]];
    },
  });
  addProcessStartTime(registry);
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('nodejs_heap_size_used_bytes', 'Used part of the JavaScript heap.', () => process.memoryUsage().heapUsed);
  gauge('nodejs_external_memory_bytes', 'Memory of buffers and native objects.', () => process.memoryUsage().external);
  if (maxFds === undefined) return;
  gauge('process_open_fds', 'Open file descriptors.', () => readdirSync('/proc/self/fd').length - 1);
  gauge('process_max_fds', 'Limit of open file descriptors.', () => maxFds);
}

/** The soft limit; undefined: only Linux has it in a file. */
function maxOpenFds(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
