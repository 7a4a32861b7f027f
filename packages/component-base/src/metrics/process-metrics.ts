import { readdirSync, readFileSync } from 'node:fs';
import type { MetricsRegistry } from './metrics-registry.ts';

/** Assembled once: Node tells neither. */
interface ProcessFacts {
  /** Seconds since the epoch. */
  readonly startSeconds: number;
  readonly maxFds: number | undefined;
}

/**
 * The `process_*` metrics that every Prometheus client exports, and memory of Node's own. Read at each scrape; those that
 * only Linux has (`/proc`) are left out elsewhere. Once per process: of several servers in one process, the outermost one.
 */
export function addProcessMetrics(registry: MetricsRegistry): void {
  const facts = processFacts();
  const gauge = (name: string, help: string, read: () => number): unknown => registry.gauge({ name, help, read });
  registry.counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system processor time.',
    readAll: () => {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1e6]];
    },
  });
  gauge('process_start_time_seconds', 'Start of the process since the epoch.', () => facts.startSeconds);
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('nodejs_heap_size_used_bytes', 'Used part of the JavaScript heap.', () => process.memoryUsage().heapUsed);
  gauge('nodejs_external_memory_bytes', 'Memory of buffers and native objects.', () => process.memoryUsage().external);
  if (facts.maxFds === undefined) return;
  const { maxFds } = facts;
  gauge('process_open_fds', 'Open file descriptors.', () => readdirSync('/proc/self/fd').length - 1);
  gauge('process_max_fds', 'Limit of open file descriptors.', () => maxFds);
}

function processFacts(): ProcessFacts {
  const startSeconds = Date.now() / 1000 - process.uptime();
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return { startSeconds, maxFds: soft === undefined ? undefined : Number(soft) };
  } catch {
    return { startSeconds, maxFds: undefined };
  }
}
