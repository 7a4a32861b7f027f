// Preloaded into a server under test (--import): its wall clock is ahead of the machine's by the milliseconds in the file
// MULTIPLANE_TEST_CLOCK, which the test changes. Monotonic time and timers are not changed, as when an administrator or NTP
// sets the clock.
import { readFileSync } from 'node:fs';

const file = process.env.MULTIPLANE_TEST_CLOCK;
const RealDate = Date;
let offset = 0;
const read = () => {
  offset = Number(readFileSync(file, 'utf8'));
};

globalThis.Date = class extends RealDate {
  constructor(...values) {
    if (values.length === 0) super(RealDate.now() + offset);
    else super(...values);
  }
  static now() {
    return RealDate.now() + offset;
  }
};
read();
setInterval(() => {
  try {
    read();
  } catch {
    // Without a descriptor the offset stays as it is: the hook must not end a server that a test has left without any.
  }
}, 20).unref();
