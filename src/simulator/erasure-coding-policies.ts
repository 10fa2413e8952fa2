/** Erasure coding policies of one nameservice: the five of HDFS and those that are added, and which of them are enabled. */

import { messageOf, messagesOf, numberOf, textOf } from '../control/rpc-server/fields.ts';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';

type PolicyState = 'ENABLED' | 'DISABLED' | 'REMOVED';

/** What files have that a policy of this name is set for: replicas, in spite of a policy further up. */
const REPLICATION_POLICY_NAME = 'replication';
const DEFAULT_POLICY_NAME = 'RS-6-3-1024k';
const FIRST_USER_POLICY_ID = 64;
const MAX_POLICY_ID = 127;
const MAX_CELL_BYTES = 4 * 1024 * 1024;
const MAX_UNITS = 255;
const CELL_BYTES = 1024 * 1024;

/** Coders by codec, in the order in which a NameNode tries them. */
export const CODECS: readonly Plain[] = [
  { codec: 'rs', coders: 'rs_native, rs_java' },
  { codec: 'rs-legacy', coders: 'rs-legacy_java' },
  { codec: 'xor', coders: 'xor_native, xor_java' },
];

export class ErasureCodingPolicy {
  readonly id: number;
  readonly name: string;
  readonly codec: string;
  readonly dataUnits: number;
  readonly parityUnits: number;
  readonly cellBytes: number;
  readonly options: readonly Plain[];
  state: PolicyState = 'DISABLED';

  constructor(
    id: number,
    codec: string,
    dataUnits: number,
    parityUnits: number,
    cellBytes: number,
    options: readonly Plain[] = [],
  ) {
    this.id = id;
    this.name = `${codec.toUpperCase()}-${dataUnits}-${parityUnits}-${Math.floor(cellBytes / 1024)}k`;
    this.codec = codec;
    this.dataUnits = dataUnits;
    this.parityUnits = parityUnits;
    this.cellBytes = cellBytes;
    this.options = options;
  }

  get isBuiltIn(): boolean {
    return this.id < FIRST_USER_POLICY_ID;
  }

  /** ErasureCodingPolicyProto as other messages embed it: the built-in ones are their id, which is all that a reader needs. */
  reference(): Plain {
    if (this.isBuiltIn) {
      return { id: this.id };
    }
    const schema: Plain = {
      codecName: this.codec,
      dataUnits: this.dataUnits,
      parityUnits: this.parityUnits,
      options: [...this.options],
    };
    return { id: this.id, name: this.name, schema, cellSize: this.cellBytes };
  }
}

export class ErasureCodingPolicies {
  /** By name, in the order of names, in which they are listed. */
  readonly #policies = new Map<string, ErasureCodingPolicy>();

  constructor() {
    for (const policy of [
      new ErasureCodingPolicy(5, 'rs', 10, 4, CELL_BYTES),
      new ErasureCodingPolicy(2, 'rs', 3, 2, CELL_BYTES),
      new ErasureCodingPolicy(1, 'rs', 6, 3, CELL_BYTES),
      new ErasureCodingPolicy(3, 'rs-legacy', 6, 3, CELL_BYTES),
      new ErasureCodingPolicy(4, 'xor', 2, 1, CELL_BYTES),
    ]) {
      this.#policies.set(policy.name, policy);
    }
    this.find(DEFAULT_POLICY_NAME).state = 'ENABLED';
  }

  all(): ErasureCodingPolicy[] {
    return [...this.#policies.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  enabled(): ErasureCodingPolicy[] {
    return this.all().filter((policy) => policy.state === 'ENABLED');
  }

  /** HadoopIllegalArgumentException for a name that no policy has. */
  find(name: string): ErasureCodingPolicy {
    const policy = this.#policies.get(name);
    if (policy === undefined) {
      throw illegal(`The policy name ${name} does not exist`);
    }
    return policy;
  }

  get(name: string): ErasureCodingPolicy | undefined {
    return this.#policies.get(name);
  }

  /** An enabled policy by its name ('' is the default one); null is replication. */
  findEnabled(name: string): ErasureCodingPolicy | null {
    const policy = this.#policies.get(name === '' ? DEFAULT_POLICY_NAME : name);
    if (policy?.state === 'ENABLED') {
      return policy;
    }
    if (name.toLowerCase() === REPLICATION_POLICY_NAME) {
      return null;
    }
    const names = this.enabled().map((one) => one.name);
    throw illegal(
      `Policy '${name === '' ? DEFAULT_POLICY_NAME : name}' does not match any enabled erasure coding policies: ` +
        `[${names.join(', ')}]. An erasure coding policy can be enabled by enableErasureCodingPolicy API.`,
    );
  }

  /** The policy that was added, or one of the same name that was there. `wanted` is ErasureCodingPolicyProto. */
  add(wanted: Plain): { policy: ErasureCodingPolicy; isNew: boolean } {
    const schema = messageOf(wanted, 'schema') ?? {};
    const codec = textOf(schema, 'codecName');
    const dataUnits = numberOf(schema, 'dataUnits');
    const parityUnits = numberOf(schema, 'parityUnits');
    const cellBytes = numberOf(wanted, 'cellSize');
    if (!CODECS.some((one) => one['codec'] === codec)) {
      throw illegal(`Codec name ${codec} is not supported`);
    }
    if (dataUnits + parityUnits > MAX_UNITS) {
      throw illegal(
        `Number of data and parity blocks in an EC group ${dataUnits + parityUnits} should not exceed maximum ${MAX_UNITS}`,
      );
    }
    if (cellBytes > MAX_CELL_BYTES) {
      throw illegal(`Cell size ${cellBytes} should not exceed maximum ${MAX_CELL_BYTES} bytes`);
    }
    const ids = this.all().map((one) => one.id);
    const id = Math.max(FIRST_USER_POLICY_ID, ...ids.map((one) => one + 1));
    const policy = new ErasureCodingPolicy(id, codec, dataUnits, parityUnits, cellBytes, messagesOf(schema, 'options'));
    const known = this.#policies.get(policy.name);
    if (known !== undefined) {
      return { policy: known, isNew: false };
    }
    if (id > MAX_POLICY_ID) {
      throw illegal(
        'Adding erasure coding policy failed because the number of policies stored in the system already reached the ' +
          `threshold, which is ${MAX_POLICY_ID}`,
      );
    }
    this.#policies.set(policy.name, policy);
    return { policy, isNew: true };
  }
}

function illegal(message: string): RemoteException {
  return new RemoteException(JAVA.HADOOP_ILLEGAL_ARGUMENT, message);
}
