// In-process meeting point of the devices of one run, and the collectives that happen there.
//
// Each group of a collective meets once for each time its step runs. A device that arrives leaves its operand
// and result addresses; the last one to arrive computes every member's results, in group order, and all go on.
//
// Invariants (mutex `lock` guards all fields):
//  R1 a meeting is identified by (collective number, how often this device has run it, group);
//  R2 while a device waits its buffers stay as they are: it runs no other step;
//  R3 once failed, every later arrival or wait gets the first error; nobody waits forever;
//  R4 the reduction order is the group's, whoever comes last.
#ifndef TT_VTPU_EXEC_RENDEZVOUS_H_
#define TT_VTPU_EXEC_RENDEZVOUS_H_

#include "exec/exec.h"
#include "exec/tile.h"

typedef struct tt_meeting_s tt_meeting_t;

// Joins the meeting of this device's group for the `round`-th run of the step. *out_meeting NULL: nothing to
// wait for (done, or the device is in no group).
tt_status_t tt_collective_begin(struct tt_rendezvous_s* rendezvous, const tt_plan_t* plan, void* const* bases,
                                const pd_collective_step_t* step, uint32_t round, int32_t replica, int32_t partition,
                                tt_pool_t* pool, tt_meeting_t** out_meeting) TT_MUST_USE;
// Whether the meeting has taken place; forgets it then.
tt_status_t tt_collective_poll(struct tt_rendezvous_s* rendezvous, tt_meeting_t* meeting, bool* out_done) TT_MUST_USE;
// This device leaves without finishing: the others fail.
void tt_rendezvous_fail(struct tt_rendezvous_s* rendezvous, const char* why);

#endif  // TT_VTPU_EXEC_RENDEZVOUS_H_
