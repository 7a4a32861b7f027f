import type { buildConnector } from 'undici';

/**
 * Makes connections a few at a time. A burst of requests would otherwise begin hundreds of handshakes at once, each of
 * which then takes longer than a connection may: they would all fail, and the burst with them. The time limit of a
 * connection begins when its turn has come.
 */
export function pacedConnector(
  options: { readonly atOnce: number },
  modules: { readonly connect: buildConnector.connector; readonly onConnected: () => void },
): buildConnector.connector {
  const waiting: (() => void)[] = [];
  let running = 0;
  const next = (): void => {
    running--;
    waiting.shift()?.();
  };
  return (target, callback) => {
    const begin = (): void => {
      running++;
      modules.connect(target, (...result) => {
        next();
        if (result[0] === null) modules.onConnected();
        callback(...result);
      });
    };
    if (running < options.atOnce) begin();
    else waiting.push(begin);
  };
}
