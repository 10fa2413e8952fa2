/** The way from a NameNode to its clients: answers may come late, and in another order than they were given. Drawn from a seed. */
import type { ServiceTime } from './service-time.ts';
import { sampleServiceMs } from './service-time.ts';

/** Longest time that an answer is kept back only to let others pass. */
const REORDER_HOLD_MS = 2;

export interface DeliverySettings {
  /** How long each answer is on its way; whole milliseconds count. */
  readonly answerDelay: ServiceTime;
  /** So many answers are kept back, and a random one goes when another comes; 0: none is. */
  readonly reorderAnswers: number;
}

export interface Receiver {
  send(bytes: Buffer): void;
}

interface Answer {
  readonly to: Receiver;
  readonly bytes: Buffer;
}

export class AnswerDelivery {
  settings: DeliverySettings;
  readonly #random: () => number;
  readonly #timers = new Set<NodeJS.Timeout>();
  #held: Answer[] = [];

  constructor(settings: DeliverySettings, random: () => number) {
    this.settings = settings;
    this.#random = random;
  }

  send(to: Receiver, bytes: Buffer): void {
    const delayMs = sampleServiceMs(this.settings.answerDelay, this.#random);
    if (delayMs > 0) {
      this.#after(delayMs, () => this.#pass({ to, bytes }));
    } else {
      this.#pass({ to, bytes });
    }
  }

  /** What is on its way is lost. */
  clear(): void {
    for (const timer of this.#timers) {
      clearTimeout(timer);
    }
    this.#timers.clear();
    this.#held = [];
  }

  #pass(answer: Answer): void {
    const { reorderAnswers } = this.settings;
    if (reorderAnswers === 0) {
      answer.to.send(answer.bytes);
      return;
    }
    this.#held.push(answer);
    if (this.#held.length === 1) {
      this.#after(REORDER_HOLD_MS, () => this.#releaseUntil(0));
    }
    this.#releaseUntil(reorderAnswers);
  }

  /** Sends random ones until no more than `count` are held. */
  #releaseUntil(count: number): void {
    while (this.#held.length > count) {
      const [answer] = this.#held.splice(Math.floor(this.#random() * this.#held.length), 1);
      answer?.to.send(answer.bytes);
    }
  }

  #after(delayMs: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, delayMs);
    this.#timers.add(timer);
  }
}
