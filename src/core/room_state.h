// The state of one room and its rules: plain code over one arena, with the time passed in. docs/architecture.md ("The rules of a
// room") is the contract; what it leaves open is decided here, so that the other store can do exactly the same.
//
// Order and ties. The line is ordered by (number, sid), what falls due by (time, sid), sids as bytes. A slot is over when
//   expiry <= now, a waiter is dropped when due + abandon_timeout <= now, is present while due >= now, is lost too long when
//   now - first loss > return_grace. A loss counts from the call that finds it.
// Clock. now = wall + offset; when that were below the last now, the offset is raised so that it is equal.
// Version. Each call adds one (stats and empty ones too), before step 1; each session ended and each cut adds one more and takes
//   the result as its own version. A new epoch goes on from max(own, the caller's + 1).
// Claim. An operation has one when epoch and number are both set. A state is empty when its epoch is 0.
// New epoch. The state is behind when the caller's epoch, or that of any claim, is above its own, or at the same epoch the caller's
//   version is above the one before this call, or the caller's last number or any claim's number is above its last. A state that
//   is behind or empty takes max(now, 1 + the largest epoch or number it has, is told or is shown) as epoch and as last number.
//   What a rolled-back state still holds is kept: it is true but for the writes that were lost.
// Recovery starts when this epoch had none and the caller's epoch, or a claim's, is not 0 and below its own. Then, and in every
//   call, the last number rises to each number claimed.
// Reserve. remembered = the most any caller with an earlier epoch had inside; back = who was inside when the epoch began, plus
//   passes of an earlier epoch taken over since, but for sessions known here as lost (they may be counted already),
//   plus passes of an earlier epoch released without having been taken over. Reserved: max(0, remembered - back), until the start of
//   recovery + session_timeout. It counts against room in steps 4 and 5.
// Step 2 frees slots first, then drops waiters, 200 in all, and forgets at most 200 marks of each sort (of more, any 200). It says
//   that work is left when slots or waiters remain. Mode closed drops no waiter. Neither is done in recovery and while `keep` lasts
//   (until the latest now + the length of a recovery of a call that told of an outage; that call's own step 2 counts).
// Marks, and cuts, are kept until the horizon at the time of the last loss or the end. The horizon is the largest, over all calls so
//   far, of now + max(abandon_timeout, session_timeout) + return_grace + 60 s: no token written so far is of use after it. The first
//   loss stays with a session as long as it is in line or inside, and as long as its mark.
// Came in: the first answer admitted since the session was let in or called, whether it claims a grant or was let in by this very call;
//   never one that is taken over. So each admission that its visitor hears of is told once.
// Step 3, in the order of the operations; the first that fits:
//   1. A session in line or inside that a cut hits is ended; then go on.
//   2. release: ends it wherever it is; one unknown here is marked if it has a claim or an admission time, else nothing is kept (a
//      ticket that never joined must not make state). evict: ends it if inside (released), else unknown.
//   3. Ended: gone.
//   4. Inside: past session_max it is ended and gone; else claimed, expiry = min(now + session_timeout, admitted + session_max).
//      An expired slot that was not freed yet is still inside. A poll is a call like others.
//   5. heartbeat with another epoch or without claim; admitted = that of the pass, or now if absent or in the future. Hit by a cut
//      (the pass's own admitted <= cut): gone. Past session_max: gone if unknown here, else go on. Inside (reserved not counted)
//      below capacity + max_waiting: taken over, also when lost too long, then as 4; else go on. It is no admission that counts.
//      Without claim it draws a number (created).
//   6. Lost too long ago: gone.
//   7. In line: waits.
//   8. A claim: hit by a cut of the line (number <= cut): gone; else into the line at that number, whatever max_waiting says.
//   9. Anything else is a newcomer for step 5, also a heartbeat, also one lost within the grace that shows no claim.
//   In mode open a caller that is in line after this comes inside at once.
// Step 4 looks at most at 200 waiters, and says that work is left when it could go on. While `keep` lasts (an outage just ended)
//   nobody counts as overdue: they could not ask. A grant lasts until max(now + grant_timeout, due), never beyond now +
//   session_max. Mode open promotes nobody (callers enter by themselves). A waiter hit by a cut of the line is ended instead.
// Step 5, in the order of the operations. The session may have got a record from an earlier operation of the call, then that counts.
//   poll: unknown. closed: closed, nothing drawn. Direct entry (in mode open: always) when nobody waits, there is room and rate,
//   and, while recovering, no caller with an earlier epoch had somebody waiting. Else full if waiting >= max_waiting, else in line.
// Step 6. due = now + max(2 x interval told, 2 s, min(gap + gap / 2, 90 s)), whole division; the interval is that of the place in line
//   as it is now, also in recovery and in mode closed. Rank 0 while recovering. Mode closed answers waiters `closed`, with number.
//   A session that a later operation of the call ended is gone.
// Rate: an admission is allowed when the rate-th last one was at or before now - window; those of mode open are noted too.
// abandoned_total counts waiters dropped and passed over; not expired grants, releases and cuts.
// Cuts: at most 16; a new one replaces the oldest that is done, and is refused when none is. A cut hits sessions
//   inside that were admitted at or before it, and with `line` waiters and claims with a number up to the last at that time. It
//   takes a microsecond of its own: the clock is one further afterwards. The sweep looks at 200 records a call and is work that is
//   left until it is through; its order does not matter. A call that makes one is: step 1, 2, the cut, its sweep, step 4.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "core/rate_ring.h"
#include "core/room.h"
#include "core/room_record.h"

namespace fairway::room {

class RoomState {
 public:
  // May throw std::bad_alloc.
  explicit RoomState(Arena& arena);

  // One atomic step; `answers` has the length of `operations`. `wall` is the wall clock; a step back is made good.
  // An operation that needed memory and got none is answered no_memory and changed nothing.
  Summary call(Micros wall, const Settings& settings, const Memory& memory, std::span<const Operation> operations,
               std::span<Answer> answers) noexcept;

  // The same without operations, and tells what was ended or cut after version `since`.
  Summary stats(Micros wall, const Settings& settings, const Memory& memory, std::uint64_t since, Changes& changes) noexcept;

  // Ends many; then, or with the id of an earlier cut, does a bounded part of it.
  CutStatus cut(Micros wall, const Settings& settings, const Memory& memory, const Cut& cut, Summary& summary) noexcept;
  CutStatus go_on(Micros wall, const Settings& settings, const Memory& memory, std::uint64_t id, Summary& summary) noexcept;

  // Frees at most 1,000 records of a room that is to go; true when none is left.
  bool dissolve() noexcept;

  // For tests: nullptr, or what is wrong with the counters and indexes. Walks everything.
  const char* inconsistency() const;
  const Table& table() const noexcept { return table_; }

 private:
  using Line = mi::index<Table, ByNumberTag>::type;
  using Times = mi::index<Table, ByTimeTag>::type;
  using It = Table::iterator;

  struct ActiveCut {
    CutNotice notice;
    Micros until = 0;
    std::uint64_t ended = 0;
    Place place = Place::waiting;  // where its sweep is: the next record is above this one
    std::uint64_t number = 0;
    Sid sid;
    bool done = false;
  };

  // What a call passes on between its steps.
  struct Step {
    const Settings& settings;
    const Memory& memory;
    std::span<const Operation> operations;
    Micros now;
    bool more_work = false;
  };

  // room_state.cpp: the call, the clock, moving records
  Step begin(Micros wall, const Settings& settings, const Memory& memory, std::span<const Operation> operations) noexcept;
  Summary finish(const Step& step) noexcept;
  void grow_table(const Settings& settings) noexcept;
  void put(It it, Place place, std::uint64_t number, std::int64_t when, Micros stamp, bool claimed = false) noexcept;
  void count(const Record& record, int by) noexcept;
  Micros deadline(const Record& record) const noexcept;
  void end(It it) noexcept;
  void lose(It it, Micros now) noexcept;
  void admit(It it, std::uint64_t number, bool claimed, const Step& step) noexcept;
  bool add(const Operation& operation, Place place, std::uint64_t number, std::int64_t when, Micros stamp) noexcept;
  bool recovering(Micros now) const noexcept { return now < recovery_until_; }
  bool holding_on(Micros now) const noexcept { return recovering(now) || now < keep_until_; }
  std::uint32_t reserved(Micros now) const noexcept;
  bool may_admit(const Step& step) noexcept;
  std::uint64_t draw_number(Micros now) const noexcept;

  // room_recovery.cpp: epochs, recovery and sweeps
  void recover_if_due(const Step& step) noexcept;
  bool behind(const Step& step) const noexcept;
  void open_epoch(const Step& step) noexcept;
  void remember(const Step& step) noexcept;
  void sweep(Step& step) noexcept;
  void sweep_slots(Step& step, std::uint32_t& budget) noexcept;
  void sweep_line(Step& step, std::uint32_t& budget) noexcept;
  void sweep_marks(const Step& step) noexcept;
  void follow_settings(const Step& step) noexcept;
  Micros next_deadline() const noexcept;

  // room_call.cpp: the callers
  void note(const Operation& operation, Answer& answer, const Step& step) noexcept;
  State release(const Operation& operation, It it) noexcept;
  State extend(It it, const Step& step) noexcept;
  std::optional<State> take_over(const Operation& operation, It it, const Step& step, bool& created) noexcept;
  State rejoin(const Operation& operation, It it, const Step& step) noexcept;
  void promote(Step& step) noexcept;
  void join(const Operation& operation, Answer& answer, const Step& step) noexcept;
  void fill(const Operation& operation, Answer& answer, const Step& step) noexcept;

  // room_cut.cpp
  bool cut_hits(const Record& record) const noexcept;
  bool cut_hits_pass(const Operation& operation) const noexcept;
  bool cut_hits_claim(const Operation& operation) const noexcept;
  void sweep_cuts(Step& step) noexcept;
  void sweep_cut(ActiveCut& active, std::uint32_t& budget) noexcept;
  ActiveCut* free_cut() noexcept;
  CutStatus status_of(std::uint64_t id) const noexcept;

  Table table_;
  RateRing recent_;
  std::uint64_t epoch_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t last_number_ = 0;
  Micros clock_ = 0;
  Micros offset_ = 0;
  std::uint32_t waiting_ = 0;
  std::uint32_t inside_ = 0;
  std::uint32_t granted_ = 0;
  std::uint64_t admitted_total_ = 0;
  std::uint64_t abandoned_total_ = 0;

  Micros recovery_until_ = 0;
  bool had_recovery_ = false;
  bool somebody_waited_ = false;
  Micros keep_until_ = 0;
  std::uint32_t remembered_ = 0;
  std::uint32_t back_ = 0;
  Micros reserve_until_ = 0;
  Micros horizon_ = 0;  // until then tokens written up to now may be of use
  Micros abandon_timeout_ = 0;
  Micros idle_until_ = 0;  // nothing falls due before

  static constexpr std::size_t kMaxCuts = 16;
  std::array<ActiveCut, kMaxCuts> cuts_{};
  std::uint32_t cuts_kept_ = 0;
};

inline constexpr std::uint32_t kWorkPerStep = 200;

// How long a token written now may be of use at most.
inline Micros token_life(const Settings& settings) noexcept {
  constexpr Micros kIssuedAhead = 60'000'000;
  const Micros longest = settings.abandon_timeout > settings.session_timeout ? settings.abandon_timeout : settings.session_timeout;
  return longest + settings.return_grace + kIssuedAhead;
}

// How long a recovery, or the patience after an outage, lasts: everybody has asked again by then.
inline Micros recovery_window(const Settings& settings) noexcept {
  const Micros asked = settings.poll_max + 5'000'000;
  return asked > settings.rate_window ? asked : settings.rate_window;
}

}  // namespace fairway::room
