import type { PriorityLevel } from './flow-control-configuration.ts';

/** The seats of a priority level that follow from the configuration. */
export interface SeatLimits {
  readonly nominal: number;
  /** What others cannot borrow. */
  readonly min: number;
  readonly max: number;
}

/** Divides `total` seats among priority levels by their shares, rounded up as in kube-apiserver. */
export function seatLimits(total: number, levels: readonly PriorityLevel[]): SeatLimits[] {
  const shares = Math.max(
    1,
    levels.reduce((sum, { nominalConcurrencyShares }) => sum + nominalConcurrencyShares, 0),
  );
  return levels.map(({ nominalConcurrencyShares, lendablePercent, borrowingLimitPercent, exempt }) => {
    const nominal = Math.ceil((total * nominalConcurrencyShares) / shares);
    const min = nominal - Math.round((nominal * lendablePercent) / 100);
    const max =
      exempt || borrowingLimitPercent === undefined
        ? Number.POSITIVE_INFINITY
        : nominal + Math.round((nominal * borrowingLimitPercent) / 100);
    return { nominal, min, max };
  });
}

export interface SeatDemand extends SeatLimits {
  /** Smoothed demand. */
  readonly target: number;
  /** Largest recent demand. */
  readonly highWatermark: number;
}

/**
 * Lends unused seats (KEP-1040, "Priority Level Configuration" and "Borrowing"): every level gets `target × p` seats within
 * its bounds, with the proportion p that hands out all `total` seats. The lower bound is the demand up to the nominal limit,
 * but at least `min`, so a level always gets back what it lent once it needs it.
 */
export function allocateSeats(total: number, levels: readonly SeatDemand[]): number[] {
  const bounds = levels.map(({ nominal, min, max, target, highWatermark }) => {
    const lower = Math.max(min, Math.min(nominal, highWatermark));
    return { lower, upper: Math.max(lower, Math.min(max, total)), target: Math.max(target, lower, 0.001) };
  });
  const seatsAt = (proportion: number): number[] =>
    bounds.map(({ lower, upper, target }) => Math.max(lower, Math.min(upper, target * proportion)));
  const sumAt = (proportion: number): number => seatsAt(proportion).reduce((sum, seats) => sum + seats, 0);
  // The sum grows with the proportion; 0.001 is the smallest target.
  let [low, high] = [0, total * 1000];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (sumAt(middle) < total) low = middle;
    else high = middle;
  }
  return seatsAt(high).map((seats) => Math.max(1, Math.round(seats)));
}
