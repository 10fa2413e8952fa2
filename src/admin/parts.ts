/** What administration works on: the router's own services, as far as it needs them. */
import type { DisabledNameservices } from '../control/store/disabled.ts';
import type { MountRecords } from '../control/store/mount-records.ts';
import type { MountEntry, StorageType } from '../mount/entry.ts';
import type { RouterRecord } from '../state-store/records.ts';
import type { AdminCaller } from './access.ts';

/** The mount table of the State Store, as control/store/mount-records.ts has it. */
export type MountAdmin = Pick<MountRecords, 'entries' | 'find' | 'add' | 'addAll' | 'update' | 'remove'>;

/** Usage of mount points from the quota service's cache; null when it is not known. */
export interface UsageFigures {
  usageOf(sourcePath: string): {
    readonly files: bigint;
    readonly bytes: bigint;
    readonly types: Readonly<Partial<Record<StorageType, bigint>>>;
  } | null;
}

/** Sets limits on the destinations of a mount point. Failures are this service's to log; it never rejects. */
export interface QuotaPush {
  /** `types`: storage types whose limits have changed; `whole`: so have the others, or the destinations. */
  push(entry: MountEntry, whole: boolean, types: readonly StorageType[]): Promise<void>;
  /** The mount point is gone: its destinations have no limits of it. */
  reset(entry: MountEntry): Promise<void>;
}

export interface SafeModeAdmin {
  readonly isOn: boolean;
  enter(): void;
  leave(): void;
}

/** Disabled nameservices, as control/store/disabled.ts has them. */
export type NameserviceAdmin = Pick<DisabledNameservices, 'ids' | 'disable' | 'enable'>;

/** Another router as its record shows it. */
export type RegisteredRouter = Pick<RouterRecord, 'adminAddress' | 'status'>;

/** A path in a nameservice. */
export interface Location {
  readonly nameservice: string;
  readonly path: string;
}

export interface PathLookup {
  /** Where a path lies, in the order to ask; throws RemoteException when it lies nowhere. `address`: of the caller. */
  locationsOf(path: string, address: string): readonly Location[];
  /** Whether the path is there, for this caller. Rejects when the nameservice cannot be asked. */
  exists(location: Location, caller: AdminCaller): Promise<boolean>;
}

/** What `refresh` of GenericRefreshProtocol may name: runs and says how it went. `sender` stands before the message in the tool's output. */
export type RefreshAction = (
  args: readonly string[],
) => Promise<{ readonly exitStatus: number; readonly message: string; readonly sender: string }>;
