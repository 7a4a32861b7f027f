import { request as httpRequest } from 'node:http';

/** Resolves when a GET returns 200. */
export function httpProbe(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent: false, timeout: 10_000 }, (response) => {
      response.resume();
      if (response.statusCode === 200) response.once('end', resolve);
      else reject(new Error(`${url} returned ${response.statusCode}`));
    });
    request.once('timeout', () => request.destroy(new Error(`${url} timed out`)));
    request.once('error', reject);
    request.end();
  });
}
