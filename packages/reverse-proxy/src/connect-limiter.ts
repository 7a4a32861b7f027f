import type { buildConnector } from 'undici';

/**
 * Limits the number of connections that are established concurrently. Without the limit, a burst of requests starts
 * hundreds of TLS handshakes, each of which then exceeds the connect timeout. The connect timeout of a connection
 * starts when it is dequeued.
 */
export function limitConcurrentConnects(
  options: { readonly maxConcurrent: number },
  modules: { readonly connect: buildConnector.connector; readonly onConnected: () => void },
): buildConnector.connector {
  const queue: (() => void)[] = [];
  let running = 0;
  const onSettled = (): void => {
    running--;
    queue.shift()?.();
  };
  return (target, callback) => {
    const start = (): void => {
      running++;
      modules.connect(target, (...result) => {
        onSettled();
        if (result[0] === null) modules.onConnected();
        callback(...result);
      });
    };
    if (running < options.maxConcurrent) start();
    else queue.push(start);
  };
}
