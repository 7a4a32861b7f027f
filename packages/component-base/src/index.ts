/** What every process needs: options, logging, metrics, health, lifecycle, clock, backoff, PKI. */
export {};
