import { WheelEntry } from '../shared/timer-wheel.ts';

/** An end to waiting that is not that of a call: of a composer that goes on with what it has. */
export class Deadline extends WheelEntry {
  readonly onDue: () => void;

  constructor(onDue: () => void) {
    super();
    this.onDue = onDue;
  }
}
