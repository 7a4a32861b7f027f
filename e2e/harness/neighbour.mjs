/*
 * A worker thread that sends the requests of a neighbour to a server under attack, one after the other, from `start` until `stop`, and
 * reports the longest wait in milliseconds of the processor time of the server's main thread. In a thread of its own, because the
 * thread of the attacker is busy with bodies of many megabytes: what the server works meanwhile would count as a wait.
 */
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const { url, ca, token, pid } = workerData;
const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
let stopped = false;
/** Without it the two of them take a whole processor from the work that they watch. */
const pauseMs = 5;

/** schedstat of proc(5) counts nanoseconds; other programs take none of them. */
function workMs() {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ', 1)[0]) / 1e6;
}

function send() {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.on('error', reject).on('end', () => resolve(response.statusCode));
      response.resume();
    });
    request.on('error', (error) => {
      // The server may have closed the connection while it was idle; the next one is new.
      if (request.reusedSocket && error.code === 'ECONNRESET') send().then(resolve, reject);
      else reject(error);
    });
  });
}

async function serveNeighbour() {
  let longestMs = 0;
  try {
    do {
      const before = workMs();
      const status = await send();
      longestMs = Math.max(longestMs, workMs() - before);
      if (status !== 200) throw new Error(`GET ${url} answered ${status}`);
      // Long turns of the server last longer than this.
      await pause(pauseMs);
    } while (!stopped);
    parentPort.postMessage({ longestMs });
  } catch (error) {
    parentPort.postMessage({ longestMs, error: error.message });
  }
}

parentPort.on('message', (message) => {
  stopped = message === 'stop';
  if (!stopped) void serveNeighbour();
});
