import type { ChildServer } from '@multiplane/testing';

/** `kill -9`, and a start. */
export const crash = (victim: ChildServer) => async (): Promise<void> => {
  await victim.kill();
  await victim.start();
};

/** SIGSTOP for two seconds: connections stay open, nothing answers, and time jumps for the process. */
export const freeze = (victim: ChildServer) => async (): Promise<void> => {
  await victim.freeze();
  await new Promise((resolve) => void setTimeout(resolve, 2000));
  victim.thaw();
};
